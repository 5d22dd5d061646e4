// Runs the queries on standard input, each of which ends a line with a semicolon, with DuckDB
// and prints the rows of each as a JSON list.
const { DuckDBInstance } = require('@duckdb/node-api');
const { readFileSync } = require('fs');

async function main() {
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  for (const query of readFileSync(0, 'utf8').trim().split(/;[ ]*\n/)) {
    console.log(JSON.stringify((await connection.runAndReadAll(query)).getRowObjectsJson()));
  }
}
main().catch((error) => { console.error(String(error)); process.exit(1); });
