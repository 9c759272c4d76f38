"""Make the table of customers of the analysts' page: python docs/scripts/customers.py customers.csv.

The shop and its 2,400 customers are invented. Five habits of buying are mixed in, and some customers
follow none. Columns are what a data warehouse usually has: a number of the customer, counts, euro
amounts, dates and a category.
"""

import sys
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np

TODAY = date(2025, 6, 30)
CHANNELS = ("web", "app", "store")

# habit: share, orders a year, euros an order, days since the last order, days a customer,
# share of returns, share of discounts, probabilities of web, app and store
HABITS: dict[str, tuple[float, ...]] = {
    "regular": (0.30, 14, 42, 20, 1500, 0.06, 0.15, 0.5, 0.4, 0.1),
    "big basket": (0.15, 5, 310, 45, 1200, 0.05, 0.10, 0.3, 0.1, 0.6),
    "bargain": (0.22, 9, 28, 35, 500, 0.12, 0.80, 0.3, 0.7, 0.0),
    "newcomer": (0.15, 3, 60, 15, 45, 0.10, 0.40, 0.4, 0.6, 0.0),
    "gone": (0.13, 2, 55, 330, 1100, 0.08, 0.25, 0.6, 0.1, 0.3),
    "mixed": (0.05, 7, 120, 120, 800, 0.30, 0.40, 0.4, 0.3, 0.3),
}


def customers(n_customers: int = 2400, seed: int = 0) -> Any:
    """Return the table as a pandas data frame, one customer per row.

    Parameters
    ----------
    n_customers : int, default=2400
        Number of rows.
    seed : int, default=0
        Seed of the random numbers.
    """
    import pandas as pd

    random = np.random.default_rng(seed)
    habits = np.array(list(HABITS.values()))
    habit = random.choice(len(habits), size=n_customers, p=habits[:, 0])
    _, orders, euros, last, age, returns, discount = habits[habit, :7].T
    days = (random.gamma(3, 1 / 3, n_customers) * age).round().clip(20, 3650)
    away = (random.gamma(4, 1 / 4, n_customers) * last).round().clip(0, days)
    columns = {
        "customer": np.arange(1, n_customers + 1),
        "first_order": [TODAY - timedelta(days=int(each)) for each in days],
        "last_order": [TODAY - timedelta(days=int(each)) for each in away],
        "orders_12m": random.poisson(orders) + 1,
        "basket_eur": (euros * random.lognormal(0, 0.25, n_customers)).round(2),
        "return_share": random.beta(20 * returns, 20 * (1 - returns)).round(3),
        "discount_share": random.beta(20 * discount, 20 * (1 - discount)).round(3),
        "channel": [CHANNELS[random.choice(3, p=each)] for each in habits[habit, 7:]],
    }
    return pd.DataFrame(columns)


def habits(table: Any) -> Any:
    """Return the habits of the customers as numbers, for a clustering that measures distances.

    Parameters
    ----------
    table : DataFrame
        As `customers` makes it.
    """
    found = table[["orders_12m", "basket_eur", "return_share", "discount_share"]].copy()
    for name in ("first_order", "last_order"):
        found[f"days_since_{name}"] = [(TODAY - each).days for each in table[name]]
    return found


if __name__ == "__main__":
    customers().to_csv(Path(sys.argv[1]), index=False)
