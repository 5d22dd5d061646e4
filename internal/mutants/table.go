package main

import (
	"fmt"
	"strings"
)

// table renders results as Markdown: a row for each edit, what survives the suite and the
// self-test, and the score. Refactorings have a table of their own and are not in the score.
func table(all []Edit, results []result) string {
	var rows, survivors, same strings.Builder
	count := map[string]int{}
	asked := map[string]int{}
	noticed, decided := 0, 0
	for i := range all {
		e := &all[i]
		if e.Same {
			fmt.Fprintf(&same, "| `%s` | %s |", e.Name, e.What)
			for _, who := range askers {
				same.WriteString(" " + answer(last(results, e, who)) + " |")
			}
			same.WriteByte('\n')
			continue
		}
		fmt.Fprintf(&rows, "| `%s` | %s |", e.Name, e.What)
		any, complete := false, true
		for _, who := range askers {
			r := last(results, e, who)
			rows.WriteString(" " + answer(r) + " |")
			switch {
			case r == nil:
				complete = complete && who == askUnits
				continue
			case r.Noticed:
				count[who]++
				any = any || who != askUnits
			}
			asked[who]++
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
	if same.Len() > 0 {
		out.WriteString("\n| refactoring | what is written otherwise | suite | self-test | unit tests |\n|---|---|---|---|---|\n" + same.String())
	}
	return out.String()
}

// answer returns who noticed an edit; r is nil if nobody was asked.
func answer(r *result) string {
	if r == nil {
		return "not asked"
	}
	return cell(r.By)
}

func cell(text string) string {
	if text == "" {
		return "no"
	}
	return strings.ReplaceAll(text, "|", `\|`)
}
