\set table random(1, :tables)
\set id random(1, 4961)
\set gone random(5001, 5100)
\set put random(5001, 5100)
\set delta random(-5000, 5000)
begin;
update accounts_:table set balance = balance + :delta where id >= :id and id < :id + 40;
delete from accounts_:table where id = :gone;
insert into accounts_:table values (:put, :delta, repeat('x', 40)) on conflict (id) do update set balance = excluded.balance;
end;
