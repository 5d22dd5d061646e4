package page_test

import (
	"os"

	"github.com/csiglab/csiglab/reports/page"
	"github.com/csiglab/csiglab/reports/section"
)

func ExampleDocument_WriteMarkdown() {
	d := &page.Document{
		Title:  "three-flow",
		Banner: page.Banner{State: section.Good, Headline: "Valid; 1 of 1 expectations hold"},
		Story:  []string{"CSIG doubles the victim's rate.", "It hears of both bottlenecks."},
		Parts: []section.Part{{
			ID: "fairness", Title: "Fairness", Says: "Flow a gets 17 of 100 Gb/s.", Level: section.Telling,
			Blocks: []section.Block{&section.Table{
				Label:   "Fairness",
				Columns: []section.Column{{Name: "Flow"}, {Name: "Rate (Gb/s)", Number: true}},
				Rows:    []section.Row{{Variant: "csig", Cells: []section.Cell{{Text: "a"}, {Text: "17", State: section.Bad}}}},
			}},
		}},
	}
	if err := d.WriteMarkdown(os.Stdout); err != nil {
		panic(err)
	}
	// Output:
	// # three-flow
	//
	// **Valid; 1 of 1 expectations hold.**
	//
	// CSIG doubles the victim's rate. It hears of both bottlenecks.
	//
	// ## Fairness
	//
	// Flow a gets 17 of 100 Gb/s.
	//
	// | Flow | Rate (Gb/s) |
	// | --- | ---: |
	// | a | 17 |
}
