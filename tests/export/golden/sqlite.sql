CREATE VIEW `v` AS
SELECT *,
  CASE
    WHEN `petal length` > (1.0 * -6004799503160661 / 18014398509481984 /* -0.3333333333333333 */) AND `petal length` <= (1.0 * 1351079888211149 / 4503599627370496 /* 0.30000000000000004 */) THEN 'it''s'
    WHEN `höhe` <= 1e-07 THEN 'back\slash'
    WHEN `petal length` > (1.0 * 1914029841632461 / 1125899906842624 /* 1.7000000000000002 */) AND `petal length` <= 2.5 THEN 'new
line'
    ELSE 'ü'
  END AS `cluster`
FROM `shop`.`sales`;
