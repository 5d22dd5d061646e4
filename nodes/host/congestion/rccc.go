package congestion

import "github.com/csiglab/csiglab/nodes/algorithm"

// rccc leaves everything to the credit that receivers grant (transport.Puller). The
// sender has no window of its own and answers nothing.
var rccc = Algorithm{
	Spec: algorithm.Spec{
		Name: "rccc",
		Doc:  "UET receiver congestion control alone: receivers grant credit, senders have no window of their own",
	},
	Actions: []Action{{"none", "nothing", "nothing"}},
	Build: func(p Path, _ *algorithm.Reader) Controller {
		c := newPassive(p)
		c.out.Window = unlimited(p)
		return &c
	},
	Windows: func(p Path, _ *algorithm.Reader) Windows { return Windows{Min: unlimited(p), Max: unlimited(p)} },
	Needs:   func(*algorithm.Reader) Needs { return Needs{Credits: true} },
}
