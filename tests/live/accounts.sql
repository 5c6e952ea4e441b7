\set id random(1, 4961)
\set gone random(5001, 5100)
\set put random(5001, 5100)
\set delta random(-5000, 5000)
begin;
update accounts set balance = balance + :delta where id >= :id and id < :id + 40;
delete from accounts where id = :gone;
insert into accounts values (:put, :delta, repeat('x', 40)) on conflict (id) do update set balance = excluded.balance;
end;
