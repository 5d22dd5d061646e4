package measure

import (
	"slices"
	"strings"

	"github.com/csiglab/csiglab/orchestrator/plan"
)

// words are what can stand for a placeholder, of one plan or another. Several entries may have
// the same.
type words struct {
	of    func(s *subjects) []string
	every []string // of all plans; nil: not known without a plan
}

// named returns words that are the same for every plan.
func named(list ...string) *words { return &words{func(*subjects) []string { return list }, list} }

// Words that several groups have.
var (
	flowNames     = &words{of: func(s *subjects) []string { return s.flows }}                       // of transfers and of programs
	transferNames = &words{of: func(s *subjects) []string { return s.flows[:s.Plan.Transfers] }}    // and of connections of jobs
	completeNames = &words{of: func(s *subjects) []string { return s.flows[:s.Plan.Completing()] }} // of transfers that complete at some time
	portNames     = &words{of: func(s *subjects) []string { return s.portNames() }}
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
	lacks := m.lacks(s.Plan)
	f := family{Lacks: lacks, Parts: m.parts(g, func(of *words, prefix string) *part {
		p := s.part(of)
		if lacks != "" && len(p.words) == 0 {
			return AnyWord()
		}
		return p.after(prefix)
	})}
	all := []family{f}
	if m.Lacking != nil && lacks == "" {
		for _, l := range m.Lacking(s) {
			last := len(f.Parts) - 1
			all = append(all, family{Parts: append(slices.Clone(f.Parts[:last]), Words(l.subject)), Lacks: l.why})
		}
	}
	return all
}

// parts returns the parts of the names of an entry of a group. place returns that of a
// placeholder, whose words have a prefix.
func (m *Entry) parts(g *Group, place func(of *words, prefix string) *part) (parts []*part) {
	of := g.Words
	if m.Words != nil {
		of = m.Words
	}
	for text, placeholder := range m.places() {
		text = strings.TrimPrefix(text, ".")
		if placeholder == "" {
			return append(parts, Words(text))
		}
		dot := strings.LastIndexByte(text, '.')
		if dot >= 0 {
			parts = append(parts, Words(text[:dot]))
		}
		parts, of = append(parts, place(of[0], text[dot+1:])), of[1:]
	}
	return parts
}

// after returns the words of a part with a prefix.
func (p *part) after(prefix string) *part {
	if prefix == "" {
		return p
	}
	words := make([]string, len(p.words))
	for i, w := range p.words {
		words[i] = prefix + w
	}
	return Words(words...)
}
