package congestion

import (
	"fmt"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/units"
)

// mltcp is MLTCP (HotNets'24 paper; arXiv 2402.09589) around another algorithm: its
// increases are scaled by F = slope*ratio + intercept, with ratio the share of the
// communication phase that is acknowledged. Of two jobs on a link the one that is further
// in its phase gets more of it, so that their phases slide apart.
//
// Departs from the public ns-3 code, which takes a gap in the ACKs for a new iteration:
// here the application says where its phases begin.
var mltcp = Algorithm{
	Spec: algorithm.Spec{
		Name: "mltcp",
		Doc:  "MLTCP: another algorithm's increases scaled by slope*ratio + intercept, by how much of the phase is done",
		Params: append([]algorithm.Param{
			{Name: "wrap", Kind: algorithm.Enum, Default: "dctcp", Values: wrappedNames(), Doc: "the algorithm whose increases are scaled; its parameters are parameters of mltcp"},
			{Name: "slope", Kind: algorithm.Number, Default: "1.75", Check: notNegativeNumber, Doc: "S: the ratio's share in the scale"},
			{Name: "intercept", Kind: algorithm.Number, Default: "0.25", Check: positiveNumber, Doc: "I: the scale at the begin of a phase"},
		}, wrappedParams()...),
	},
	Actions: scaledActions,
	Build:   newMLTCP,
	Share: func(r *algorithm.Reader) Share {
		return Share{
			Intercept: r.Number("intercept"), Slope: r.Number("slope"),
			Words: fmt.Sprintf("MLTCP: weights %s + %s sent/total", r.Text("intercept"), r.Text("slope")),
		}
	},
	Needs:     wrappedNeeds,
	Constants: wrappedConstants,
	Windows:   wrappedWindows,
}

func newMLTCP(p Path, r *algorithm.Reader) Controller {
	return wrap(p, r, &mltcpLaw{slope: r.Number("slope"), intercept: r.Number("intercept")}, csig.Weights{})
}

// mltcpLaw is F(bytes_ratio) = slope*bytes_ratio + intercept (MLTCP paper, equation 1).
type mltcpLaw struct {
	slope, intercept float64
	phase            progress // in acknowledged bytes
}

func (l *mltcpLaw) onPhase(_ units.Time, p *Phase) { l.phase.begin(p) }

func (l *mltcpLaw) onAck(_ units.Time, a *Ack) { l.phase.sent += a.Acked }

func (l *mltcpLaw) factor() float64 { return float64(l.slope*l.phase.ratio()) + l.intercept }

// notNegativeNumber is a Check of a Number: 0 or more.
func notNegativeNumber(text string) error {
	if text == "0" {
		return nil
	}
	return positiveNumber(text)
}
