package experiment

import "slices"

// runtimes lists each runtime with the clocks that it runs under, those that are
// taken where nothing is said first.
var runtimes = []struct {
	name   string
	clocks []string
}{
	{"inproc", []string{"virtual"}},
	{"netns", []string{"lockstep", "wall"}},
	{"containerlab", []string{"lockstep", "wall"}},
}

// Fits tells whether the runtime runs under the clock.
func Fits(runtime, clock string) bool { return slices.Contains(ClocksOf(runtime), clock) }

// ClocksOf returns the clocks of a runtime, the one taken where none is named
// first; nil for an unknown runtime.
func ClocksOf(runtime string) []string {
	for _, r := range runtimes {
		if r.name == runtime {
			return r.clocks
		}
	}
	return nil
}

// RuntimesOf returns the runtimes that run under a clock, the one taken where none
// is named first; nil for an unknown clock.
func RuntimesOf(clock string) (names []string) {
	for _, r := range runtimes {
		if slices.Contains(r.clocks, clock) {
			names = append(names, r.name)
		}
	}
	return names
}

// fitRuntime has the runtime follow the clock, or the clock the runtime, where one
// of them alone is given above the file, or alone in it. What the file says of the
// other stays if the two fit.
func fitRuntime(base *tree, layers []layer) error {
	given := func(path string) *origin {
		for i := len(layers) - 1; i >= 0; i-- {
			if layers[i].path == path {
				return &layers[i].at
			}
		}
		return nil
	}
	runtime, clock := given("runtime"), given("clock")
	if runtime == nil && clock == nil {
		if t := base.get("runtime"); t != nil {
			runtime = &t.at
		}
		if t := base.get("clock"); t != nil {
			clock = &t.at
		}
	}
	if (runtime == nil) == (clock == nil) {
		return nil
	}
	whole := defaults()
	names := map[string]string{"runtime": whole.Runtime, "clock": whole.Clock}
	for path := range names {
		if t := base.get(path); t != nil {
			names[path] = t.text
		}
	}
	if Fits(names["runtime"], names["clock"]) {
		return nil
	}
	path, at, known := "clock", runtime, ClocksOf(names["runtime"])
	if runtime == nil {
		path, at, known = "runtime", clock, RuntimesOf(names["clock"])
	}
	if len(known) == 0 {
		return nil // no such name: the check says so
	}
	return base.merge(path, *at, &tree{kind: scalar, at: *at, text: known[0]})
}
