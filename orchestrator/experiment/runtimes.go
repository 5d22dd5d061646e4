package experiment

import "github.com/csiglab/csiglab/orchestrator/experiment/runtimes"

// Way returns where and how the experiment runs.
func (e *Experiment) Way() runtimes.Way { return runtimes.Way{Runtime: e.Runtime, Clock: e.Clock} }

// fitRuntime changes the clock to fit the runtime, or the runtime to fit the clock,
// where only one of them is given above the file, or only one in the file. The
// other keeps its value if the two fit.
func fitRuntime(base *tree, layers []layer, opts Options) *Error {
	if err := preferRuntime(base, opts); err != nil {
		return err
	}
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
	name := func(path, fallback string) string {
		if t := base.get(path); t != nil {
			return t.text
		}
		return fallback
	}
	nowRuntime, nowClock := name("runtime", whole.Runtime), name("clock", whole.Clock)
	set := func(path, text, now string, at *origin) *Error {
		if text == now {
			return nil
		}
		return base.merge(path, *at, &tree{kind: scalar, at: *at, text: text})
	}
	if runtime != nil {
		_, fitting := runtimes.Settle(nowRuntime, "", nowRuntime, nowClock)
		return set("clock", fitting, nowClock, runtime)
	}
	fitting, _ := runtimes.Settle("", nowClock, nowRuntime, nowClock)
	return set("runtime", fitting, nowRuntime, clock)
}

// preferRuntime gives the runtime of the options to an experiment that names none.
func preferRuntime(base *tree, opts Options) *Error {
	if opts.Runtime == "" || base.get("runtime") != nil {
		return nil
	}
	if t := base.get("clock"); t != nil && (!runtimes.Fits(opts.Runtime, t.text) || runtimes.Way{Clock: t.text}.Has(runtimes.RealTime) && !opts.Lab) {
		return nil
	}
	at := origin{file: opts.RuntimeAt}
	return base.merge("runtime", at, &tree{kind: scalar, at: at, text: opts.Runtime})
}
