package main

import (
	"fmt"
	"os"
	"sort"
	"strings"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

type span struct{ b, e float64 }
type key struct {
	v    string
	seed uint64
}

func main() {
	f, err := runfolder.Open(os.Args[1])
	if err != nil {
		panic(err)
	}
	runs := map[key]map[string]map[int32][2]span{} // job, step: compute, comm
	for r, err := range f.Instances() {
		if err != nil {
			panic(err)
		}
		_ = r
		k := key{r.Variant, uint64(r.Seed)}
		if runs[k] == nil {
			runs[k] = map[string]map[int32][2]span{}
		}
		j := runs[k][r.JobName]
		if j == nil {
			j = map[int32][2]span{}
			runs[k][r.JobName] = j
		}
		s := j[r.Step]
		if r.Collective == "" {
			s[0] = span{float64(r.BeginUS), float64(r.EndUS)}
		} else {
			if s[1].b == 0 || float64(r.BeginUS) < s[1].b {
				s[1].b = float64(r.BeginUS)
			}
			if float64(r.EndUS) > s[1].e {
				s[1].e = float64(r.EndUS)
			}
		}
		j[r.Step] = s
	}
	var keys []key
	for k := range runs {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool { return keys[i].v < keys[j].v || keys[i].v == keys[j].v && keys[i].seed < keys[j].seed })
	for _, k := range keys {
		var names []string
		for n := range runs[k] {
			names = append(names, n)
		}
		sort.Strings(names)
		for _, n := range names {
			var out []string
			var all []float64
			apart := -1
			for i := int32(1); ; i++ {
				s, ok := runs[k][n][i]
				if !ok {
					break
				}
				over := 0.0
				for m, o := range runs[k] {
					if m == n {
						continue
					}
					for _, x := range o {
						lo, hi := max(x[1].b, s[1].b), min(x[1].e, s[1].e)
						if hi > lo {
							over += hi - lo
						}
					}
				}
				share := over / (s[1].e - s[1].b)
				if share >= 0.05 {
					apart = -1
				} else if apart < 0 {
					apart = int(i)
				}
				t := (s[0].e - s[0].b) / 1e3
				all = append(all, t)
				out = append(out, fmt.Sprintf("%.0f/%.0f", t, share*100))
			}
			sort.Float64s(all)
			fmt.Printf("%-12s %d %-7s p50 %.1f apart %d: %s\n", k.v, k.seed, n, all[len(all)/2], apart, strings.Join(out, " "))
		}
	}
}
