// Runs queries with Polars and prints a JSON list of rows for each. Standard input is
// {"tables": {NAME: FILE}, "queries": [SQL]}.
const pl = require('nodejs-polars');
const { readFileSync } = require('fs');

const input = JSON.parse(readFileSync(0, 'utf8'));
const frames = Object.entries(input.tables).map(([name, file]) => [name, pl.scanParquet(file)]);
const context = new pl.SQLContext(Object.fromEntries(frames));
const results = input.queries.map((query) => {
  try {
    return context.execute(query, { eager: true }).toRecords();
  } catch (error) {
    throw new Error(`${error} in ${query}`); // a query that is wrong is no more than a missing method
  }
});
console.log(JSON.stringify(results, (_, v) => (typeof v === 'bigint' ? Number(v) : v)));
