package main

import (
	"fmt"
	"strings"
)

// table renders results as Markdown: a row for each edit, what survives the suite and the
// self-test, and the score.
func table(all []Edit, results []result) string {
	var rows, survivors strings.Builder
	count := map[string]int{}
	asked := map[string]int{}
	noticed, decided := 0, 0
	for i := range all {
		e := &all[i]
		fmt.Fprintf(&rows, "| `%s` | %s |", e.Name, e.What)
		any, complete := false, true
		for _, who := range askers {
			r := last(results, e, who)
			switch {
			case r == nil:
				rows.WriteString(" not asked |")
				complete = complete && who == askUnits
				continue
			case r.Noticed:
				count[who]++
				any = any || who != askUnits
			}
			asked[who]++
			fmt.Fprintf(&rows, " %s |", cell(r.By))
		}
		rows.WriteByte('\n')
		switch {
		case any:
			noticed++
			decided++
		case complete:
			decided++
			fmt.Fprintf(&survivors, "| `%s` | %s |\n", e.Name, cell(e.Survives))
		}
	}
	var out strings.Builder
	fmt.Fprintf(&out, "| asked | noticed |\n|---|---|\n")
	for _, who := range askers {
		fmt.Fprintf(&out, "| %s | %d of %d |\n", who, count[who], asked[who])
	}
	fmt.Fprintf(&out, "| suite and self-test together | %d of %d", noticed, decided)
	if decided > 0 {
		fmt.Fprintf(&out, ", %.0f %%", 100*float64(noticed)/float64(decided))
	}
	out.WriteString(" |\n\n| edit | what goes wrong | suite | self-test | unit tests |\n|---|---|---|---|---|\n" + rows.String())
	if survivors.Len() > 0 {
		out.WriteString("\n| not noticed by suite and self-test | reason |\n|---|---|\n" + survivors.String())
	}
	return out.String()
}

func cell(text string) string {
	if text == "" {
		return "no"
	}
	return strings.ReplaceAll(text, "|", `\|`)
}
