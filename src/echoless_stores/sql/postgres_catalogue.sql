-- Queries of the catalogue of PostgreSQL, each under its name.

-- tables
SELECT n.nspname, c.relname, pg_table_is_visible(c.oid)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT IN ('information_schema')
  AND n.nspname NOT LIKE 'pg\_%' AND has_table_privilege(c.oid, 'SELECT')
  AND NOT (n.nspname LIKE 'echoless\_%' AND EXISTS (
    SELECT 1 FROM pg_class m WHERE m.relnamespace = n.oid AND m.relname = 'open_runs'))
ORDER BY 2, 1

-- relation
SELECT c.oid, n.nspname, c.relname, c.relkind::text, pg_table_is_visible(c.oid)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
  AND ((c.relname = :name AND pg_table_is_visible(c.oid))
       OR (c.relname = :bare AND n.nspname = :schema))
ORDER BY 5 DESC

-- home
SELECT n.nspname, c.relname, c.oid
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relname = :name
  AND CASE WHEN :schema = '' THEN pg_table_is_visible(c.oid) ELSE n.nspname = :schema END

-- columns
SELECT a.attname, format_type(a.atttypid, a.atttypmod), t.typcategory::text,
  a.attgenerated::text <> '', a.attidentity::text,
  a.attnotnull AND NOT a.atthasdef AND a.attidentity::text = '',
  pg_get_expr(d.adbin, d.adrelid)
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = :oid AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum

-- key
SELECT a.attname
FROM pg_index i
CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, place)
JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
WHERE i.indrelid = :oid AND i.indisprimary
ORDER BY k.place

-- tree
WITH RECURSIVE tree(oid, cascade) AS (
  SELECT CAST(:oid AS oid), false
  UNION
  SELECT each.child, tree.cascade OR each.cascade
  FROM tree JOIN (
    SELECT inhparent AS parent, inhrelid AS child, false AS cascade FROM pg_inherits
    UNION ALL
    SELECT confrelid, conrelid, true FROM pg_constraint WHERE contype = 'f' AND confdeltype = 'c'
  ) each ON each.parent = tree.oid
)

-- effects
SELECT 'trigger', t.tgname, t.tgtype & 4 > 0, t.tgtype & 16 > 0 AND NOT tree.cascade,
  t.tgtype & 8 > 0, NOT tree.cascade, pg_has_role(c.relowner, 'USAGE'),
  CAST(CAST(c.oid AS regclass) AS text), quote_ident(t.tgname), t.tgenabled::text
FROM pg_trigger t JOIN tree ON tree.oid = t.tgrelid JOIN pg_class c ON c.oid = t.tgrelid
WHERE NOT t.tgisinternal AND t.tgenabled IN ('O', 'A')
UNION
SELECT 'rule', r.rulename, r.ev_type = '3', r.ev_type = '2' AND NOT tree.cascade, r.ev_type = '4',
  false, true, '', '', ''
FROM pg_rewrite r JOIN tree ON tree.oid = r.ev_class
WHERE r.ev_type <> '1' AND r.ev_enabled IN ('O', 'A')
ORDER BY 1, 2

-- changed_rows
SELECT name, sum(added), sum(changed) FROM (
  SELECT CASE WHEN tree.oid IS NOT NULL THEN CAST(:own AS text)
              WHEN pg_table_is_visible(s.relid) THEN s.relname::text
              ELSE s.schemaname || '.' || s.relname END AS name,
    s.n_tup_ins AS added, s.n_tup_upd + s.n_tup_del AS changed
  FROM pg_stat_xact_user_tables s LEFT JOIN tree ON tree.oid = s.relid AND NOT tree.cascade
  WHERE s.schemaname NOT LIKE 'echoless\_%' AND s.n_tup_ins + s.n_tup_upd + s.n_tup_del > 0
) each GROUP BY name

-- references
SELECT CASE WHEN pg_table_is_visible(s.oid) THEN s.relname::text
            ELSE n.nspname || '.' || s.relname END,
  (SELECT array_agg(a.attname::text ORDER BY k.place)
   FROM unnest(c.conkey) WITH ORDINALITY AS k(attnum, place)
   JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.attnum),
  (SELECT array_agg(a.attname::text ORDER BY k.place)
   FROM unnest(c.confkey) WITH ORDINALITY AS k(attnum, place)
   JOIN pg_attribute a ON a.attrelid = c.confrelid AND a.attnum = k.attnum),
  c.confdeltype = 'c'
    AND NOT EXISTS (SELECT 1 FROM pg_constraint o
                    WHERE o.contype = 'f' AND o.confrelid = c.conrelid)
FROM pg_constraint c
JOIN pg_class s ON s.oid = c.conrelid JOIN pg_namespace n ON n.oid = s.relnamespace
JOIN pg_class t ON t.oid = c.confrelid JOIN pg_namespace m ON m.oid = t.relnamespace
WHERE c.contype = 'f' AND t.relname = :name
  AND CASE WHEN :schema = '' THEN pg_table_is_visible(t.oid) ELSE m.nspname = :schema END
  AND c.conparentid = 0
ORDER BY 1

-- database
SELECT oid FROM pg_database WHERE datname = current_database()

-- system
SELECT system_identifier FROM pg_control_system()

-- ledger
SELECT has_schema_privilege(n.oid, 'USAGE'), EXISTS (
  SELECT 1 FROM pg_class c WHERE c.relnamespace = n.oid AND c.relname = 'facts')
FROM pg_namespace n WHERE n.nspname = :schema

-- guards
SELECT t.tgname FROM pg_trigger t
WHERE t.tgrelid = to_regclass(:events) AND t.tgenabled IN ('O', 'A')
