CREATE VIEW `v` AS
SELECT *,
  CASE
    WHEN CASE WHEN `petal length` = CAST(`petal length` AS NUMERIC) THEN CAST(`petal length` AS REAL) END > (1.0 * -6004799503160661 / 18014398509481984 /* -0.3333333333333333 */) AND CASE WHEN `petal length` = CAST(`petal length` AS NUMERIC) THEN CAST(`petal length` AS REAL) END <= (1.0 * 1351079888211149 / 4503599627370496 /* 0.30000000000000004 */) THEN 'it''s'
    WHEN CASE WHEN `höhe` = CAST(`höhe` AS NUMERIC) THEN CAST(`höhe` AS REAL) END <= 1e-07 THEN 'back\slash'
    WHEN CASE WHEN `petal length` = CAST(`petal length` AS NUMERIC) THEN CAST(`petal length` AS REAL) END > (1.0 * 1914029841632461 / 1125899906842624 /* 1.7000000000000002 */) AND CASE WHEN `petal length` = CAST(`petal length` AS NUMERIC) THEN CAST(`petal length` AS REAL) END <= 2.5 THEN 'new
line'
    ELSE 'ü'
  END AS `cluster`
FROM `shop`.`sales`;
