CREATE VIEW `v` AS
SELECT *,
  CASE
    WHEN `petal length` > -0.3333333333333333 AND `petal length` <= 0.30000000000000004 THEN 'it\'s'
    WHEN `höhe` <= 1e-07 THEN 'back\\slash'
    WHEN `petal length` > 1.7000000000000002 AND `petal length` <= 2.5 THEN 'new\nline'
    ELSE 'ü'
  END AS `cluster`
FROM `shop`.`sales`;
