package measure

import (
	"slices"
	"strings"

	"github.com/csiglab/csiglab/orchestrator/plan"
)

// words are what can stand for a placeholder, of one plan or another. Several entries may have
// the same.
type words struct {
	of func(s *subjects) []string
}

// named returns words that are the same for every plan.
func named(list ...string) *words { return &words{func(*subjects) []string { return list }} }

// Words that several groups have.
var (
	flowNames      = &words{func(s *subjects) []string { return s.flows }}                       // of transfers and of programs
	transferNames  = &words{func(s *subjects) []string { return s.flows[:s.Plan.Transfers] }}    // and of connections of jobs
	completeNames  = &words{func(s *subjects) []string { return s.flows[:s.Plan.Completing()] }} // of transfers that complete at some time
	portNames      = &words{func(s *subjects) []string { return s.portNames() }}
	statisticNames = &words{func(*subjects) (names []string) { // of a Distribution
		for _, s := range statistics {
			names = append(names, s.name)
		}
		return names
	}}
)

// subjects is what the metrics of a plan can be about.
type subjects struct {
	Plan    *plan.Plan
	flows   []string
	parts   map[*words]*part
	layout  *portLayout // with the next, when they are needed
	ports   []string
	outlook *outlook
}

func newSubjects(p *plan.Plan) *subjects {
	s := &subjects{Plan: p, flows: make([]string, len(p.Flows)), parts: map[*words]*part{}}
	for i := range p.Flows {
		s.flows[i] = p.Flows[i].Name
	}
	return s
}

// part returns words as a part of names.
func (s *subjects) part(of *words) *part {
	if s.parts[of] == nil {
		s.parts[of] = &part{words: of.of(s)}
	}
	return s.parts[of]
}

// portNames returns the names of all ports, in the order of the layout.
func (s *subjects) portNames() []string {
	if s.layout == nil {
		s.layout = newPortLayout(s.Plan)
		for n, ports := range s.layout.adjacency {
			for port := range ports {
				s.ports = append(s.ports, s.layout.name(n, port))
			}
		}
	}
	return s.ports
}

// predictions returns what can be predicted of the plan's jobs, without times.
func (s *subjects) predictions() []Prediction {
	if s.outlook == nil {
		s.outlook = newOutlook(s.Plan)
	}
	return s.outlook.all
}

// families returns the families of an entry of a group: one, and those of subjects that lack it.
func (s *subjects) families(g *Group, m *Entry) []family {
	of := g.Words
	if m.Words != nil {
		of = m.Words
	}
	f := family{Lacks: m.lacks(s.Plan)}
	for text, placeholder := range m.places() {
		text = strings.TrimPrefix(text, ".")
		if placeholder == "" {
			if text != "" {
				f.Parts = append(f.Parts, Words(text))
			}
			break
		}
		dot := strings.LastIndexByte(text, '.')
		if dot >= 0 {
			f.Parts = append(f.Parts, Words(text[:dot]))
		}
		p := s.part(of[0])
		if prefix := text[dot+1:]; prefix != "" {
			p = p.after(prefix)
		}
		if f.Lacks != "" && len(p.words) == 0 {
			p = AnyWord()
		}
		f.Parts, of = append(f.Parts, p), of[1:]
	}
	all := []family{f}
	if m.Lacking != nil && f.Lacks == "" {
		for _, l := range m.Lacking(s) {
			last := len(f.Parts) - 1
			all = append(all, family{Parts: append(slices.Clone(f.Parts[:last]), Words(l.subject)), Lacks: l.why})
		}
	}
	return all
}

// after returns the words of a part with a prefix.
func (p *part) after(prefix string) *part {
	words := make([]string, len(p.words))
	for i, w := range p.words {
		words[i] = prefix + w
	}
	return Words(words...)
}
