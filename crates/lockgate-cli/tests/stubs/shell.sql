create table t(a integer primary key, b text, c real);
insert into t(b,c) values('one',1.5),('two',2.5),('its',NULL);
.mode column
.headers on
select * from t;
.mode csv
select *, a*c from t;
.mode quote
select * from t;
.mode insert t
select * from t;
.schema
.dump
.tables
.mode markdown
select * from t where b like 'o%';
.mode json
select * from t;
.mode box
select * from t;
.mode html
select * from t limit 1;
.mode line
select * from t limit 2;
.mode table
select count(*), sum(c), max(b) from t group by a%2;
with recursive n(i) as (select 1 union all select i+1 from n where i<20) select i, i*i from n limit 5;
.import |echo no t
select sqlite_version()<>'';
.indexes
create index ti on t(b);
.indexes
explain query plan select * from t where b='one';
.eqp on
select * from t where b='one';
.eqp off
.changes on
update t set c=c+1 where a<3;
.bail off
select * from nosuch;
selec;
.nullvalue NULL
select * from t;
.width 5 10
.mode column
select * from t;
.separator |
.mode list
select hex(zeroblob(2)), upper(b), printf('%05d|%s',a,b) from t;
create virtual table f using fts5(x);
insert into f values('hello world'),('other text');
select * from f where f match 'hello';
.fullschema
.dbinfo
.stats off
.show
.print done
.databases
select json_object('a',a,'b',b) from t;
begin; delete from t; rollback; select count(*) from t;
.sha3sum
.lint fkey-indexes
.timer off
.once out.txt
select * from t;
.output out2.txt
.dump
.output stdout
.clone copy.db
.backup back.db
.save save.db
.recover
select sha3('abc',256), decimal_add('1','2.5'), base64(x'0102'), 'abc' regexp 'a.c', ieee754(4.0);
select readfile('out.txt')<>'';
.archive -t
.open other.db
create table z(x); insert into z values(1),(2);
select * from z;
.quit
