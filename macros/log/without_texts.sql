{#-
    SQL without what people may write in texts, names and comments, so that a search for a word finds only SQL. Each
    text, double-quoted name or name in backquotes keeps its quotes, and has an underscore for each character
    between them. Each comment becomes blanks, except our own marks. So each place is the same as in `sql`.
-#}
{% macro _without_texts(sql) -%}
    {%- set marks = [trueup._log_mark(), trueup._log_boundary()] -%}
    {%- set parts = [] -%}
    {%- for token in modules.re.findall(trueup._token_pattern(), sql | string) -%}
        {%- if token[:2] in ['--', '/*'] and token not in marks -%}
            {%- do parts.append(' ' * token | length) -%}
        {%- elif token | length > 1 and token[-1] in ["'", '"', '`'] -%}
            {%- do parts.append(token[-1] ~ '_' * (token | length - 2) ~ token[-1]) -%}
        {%- else -%}
            {%- do parts.append(token) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(parts | join) }}
{%- endmacro %}


{#-
    A regular expression for one token of Spark's SQL: a text, a quoted name, a comment, a word, or other characters.
    In a text a backslash escapes the next character, unless the text begins with `r`. A doubled quote looks like
    two texts side by side. A comment may hold comments; the expression knows four levels of them.
-#}
{% macro _token_pattern() -%}
    {%- set levels = ['/[*](?:[^*/]|[*](?!/)|/(?![*]))*[*]/'] -%}
    {%- for _ in range(3) -%}
        {%- do levels.append('/[*](?:[^*/]|[*](?!/)|/(?![*])|' ~ levels[-1] ~ ')*[*]/') -%}
    {%- endfor -%}
    {{ return([
        "[rR]'[^']*'", '[rR]"[^"]*"', "'(?:[^'\\\\]|\\\\[\\s\\S])*'", '"(?:[^"\\\\]|\\\\[\\s\\S])*"', '`[^`]*`',
        '--(?:\\\\\n|[^\r\n])*', levels[-1], '\\w+', '[^\\w\'"`/-]+', '.'
    ] | join('|')) }}
{%- endmacro %}
