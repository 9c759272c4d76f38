"""A model as a web service: rows in, clusters and their rules out.

    pip install fastapi uvicorn polars
    python examples/service.py model.json --port 8000
    curl localhost:8000/predict -H 'content-type: application/json' -d '{"rows": [{"bill_length_mm": 39.1}]}'

The model is a file that `to_json()` or `spexplain explain --json` wrote. Rows need the columns that the
rules speak of, in any order; a row may leave out a value, which is then missing.
"""

import argparse
from pathlib import Path
from typing import Any

import polars as pl
import uvicorn
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel, Field

from spexplain import from_json


class Rows(BaseModel):
    """What is asked: up to 10,000 rows at a time."""

    rows: list[dict[str, Any]] = Field(min_length=1, max_length=10_000)


class Answer(BaseModel):
    """Leaf and cluster of every row."""

    leaves: list[int]
    clusters: list[Any] | None


def service(model_file: Path) -> FastAPI:
    """Return the service of one model, which is read once."""
    model = from_json(model_file.read_text())
    explanation = model.explanation_
    tested = [explanation.names[each] for each in explanation.used]
    clusters = getattr(model, "leaf_reference_", None)
    app = FastAPI(title=f"{model.kind_} with {model.n_leaves_} leaves")

    @app.get("/rules")
    def rules() -> list[dict[str, Any]]:
        return [
            {key: getattr(each, "item", lambda each=each: each)() for key, each in rule.items()}
            for rule in model.rules()
        ]

    @app.post("/predict")
    def predict(asked: Rows) -> Answer:
        known = set().union(*asked.rows)
        lacking = [name for name in tested if name not in known]
        if lacking:
            raise HTTPException(422, f"rows lack {', '.join(lacking)}, which the rules ask about.")
        columns = {name: [row.get(name) for row in asked.rows] for name in tested}
        try:
            leaves = model.predict(pl.DataFrame(columns, strict=False))
        except (ValueError, TypeError, pl.exceptions.PolarsError) as error:
            raise HTTPException(422, str(error)) from None
        found = None if clusters is None else clusters[leaves].tolist()
        return Answer(leaves=leaves.tolist(), clusters=found)

    return app


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model", type=Path, help="a model in JSON")
    parser.add_argument("--port", type=int, default=8000)
    options = parser.parse_args()
    uvicorn.run(
        service(options.model),
        host="127.0.0.1",
        port=options.port,
        timeout_keep_alive=60,  # clients keep connections open between requests
        log_level="warning",
    )


if __name__ == "__main__":
    main()
