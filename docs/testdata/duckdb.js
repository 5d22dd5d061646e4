// Runs the query on standard input with DuckDB and prints its rows as a JSON list.
const { DuckDBInstance } = require('@duckdb/node-api');
const { readFileSync } = require('fs');

async function main() {
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  const result = await connection.runAndReadAll(readFileSync(0, 'utf8'));
  console.log(JSON.stringify(result.getRowObjectsJson()));
}
main().catch((error) => { console.error(String(error)); process.exit(1); });
