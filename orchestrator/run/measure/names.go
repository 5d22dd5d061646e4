package measure

import (
	"iter"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/internal/wildcard"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/expression"
	"github.com/csiglab/csiglab/orchestrator/plan"
)

// NameSet is the names of all metrics that a run of a plan can have. It holds families,
// not single names: a fabric may have millions of metrics. It is not safe for
// concurrent use.
type NameSet struct {
	families []family
}

// family is the metrics whose names have one form: a word of each part in turn, joined
// by dots. {"cc_share"}, flows, actions stands for cc_share.0-8.noop and so on.
type family struct {
	Parts []*part
	// Lacks is why no run of the plan has these metrics, as the end of "variant x has
	// no such metric: …". It is empty if runs can have them.
	Lacks string
}

// part is the words that can stand in one place of a name. Families may share it.
type part struct {
	words []string
	index map[string]struct{} // made when it is first needed
	// any: it has every word that begins with prefix.
	any    bool
	prefix string
}

// Words returns a part of the given words, which it keeps.
func Words(words ...string) *part { return &part{words: words} }

// AnyWord returns a part that has every word. It is for families that runs lack, whose
// words are not known.
func AnyWord() *part { return &part{any: true} }

// linearWords is the number of words up to which a part is searched one by one.
const linearWords = 16

func (p *part) has(word string) bool {
	switch {
	case p.any:
		return strings.HasPrefix(word, p.prefix)
	case len(p.words) <= linearWords:
		return slices.Contains(p.words, word)
	case p.index == nil:
		p.index = make(map[string]struct{}, len(p.words))
		for _, w := range p.words {
			p.index[w] = struct{}{}
		}
	}
	_, ok := p.index[word]
	return ok
}

// Names returns the names of the metrics that a run of the plan can have. They do not
// depend on the seed.
func Names(p *plan.Plan) *NameSet {
	n, s := &NameSet{}, newSubjects(p)
	for _, g := range Catalogue {
		for _, m := range g.Entries {
			n.families = append(n.families, s.families(g, m)...)
		}
	}
	return n
}

// NamesOfSet returns the names of each variant of a set, as an option of
// experiment.Load. Its error is that of a plan which cannot be made.
func NamesOfSet(set *experiment.Set) ([]expression.Names, error) {
	var names []expression.Names
	err := plan.EachVariant(set, func(_ int, p *plan.Plan) { names = append(names, Names(p)) })
	if err != nil {
		return nil, err
	}
	return names, nil
}

// Has reports whether a run can have a metric of this name.
func (n *NameSet) Has(name string) bool {
	return slices.ContainsFunc(n.families, func(f family) bool { return f.Lacks == "" && has(f.Parts, name) })
}

// Lacks returns why no run has the metric of a name that Has does not know but other
// plans may have; "" if the name is none of a metric.
func (n *NameSet) Lacks(name string) string {
	for _, f := range n.families {
		if f.Lacks != "" && (has(f.Parts, name) || wildcard.In(name) && !isEmpty(f.match(name))) {
			return f.Lacks
		}
	}
	return ""
}

func has(parts []*part, name string) bool {
	if len(parts) == 1 {
		return parts[0].has(name)
	}
	for i := range len(name) { // words may contain dots
		if name[i] == '.' && parts[0].has(name[:i]) && has(parts[1:], name[i+1:]) {
			return true
		}
	}
	return false
}

// All yields every name that a run can have.
func (n *NameSet) All() iter.Seq[string] { return n.Match("*") }

// Match yields the names that a run can have and that match a pattern of package
// wildcard.
func (n *NameSet) Match(pattern string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, f := range n.families {
			if f.Lacks != "" {
				continue
			}
			for name := range f.match(pattern) {
				if !yield(name) {
					return
				}
			}
		}
	}
}

// match yields the names of a family that match a pattern.
func (f *family) match(pattern string) iter.Seq[string] {
	prefix := wildcard.Prefix(pattern)
	return func(yield func(string) bool) {
		var walk func(parts []*part, before string) bool
		walk = func(parts []*part, before string) bool {
			words := parts[0].words
			if parts[0].any {
				words = []string{"*"}
			}
			for _, word := range words {
				name := before + word
				if !strings.HasPrefix(name, prefix) && !strings.HasPrefix(prefix, name) {
					continue
				}
				if len(parts) > 1 {
					if !walk(parts[1:], name+".") {
						return false
					}
				} else if wildcard.Match(pattern, name) && !yield(name) {
					return false
				}
			}
			return true
		}
		walk(f.Parts, "")
	}
}

func isEmpty(names iter.Seq[string]) bool {
	for range names {
		return false
	}
	return true
}

// otherNames are names of switches in a leaf-spine fabric, and ways to write a port, that
// stand for ours.
var otherNames = strings.NewReplacer("leaf", "tor", "spine", "agg", "->", "-")

// maxCompared is how many names Nearest compares at most, in each of its attempts.
const maxCompared = 100_000

// Nearest returns the name, or for a pattern the pattern, that text is probably a
// misspelling of, "" if none is near. It looks at names that differ by a unit or by a
// common name of a switch, then at names with the same first words, then at those with a
// similar first word.
func (n *NameSet) Nearest(text string) string {
	if wildcard.In(text) {
		return spelling.Nearest(text, n.patterns())
	}
	first, rest, dotted := strings.Cut(text, ".")
	var firsts []string
	for _, f := range n.families {
		if f.Lacks == "" {
			for _, word := range f.Parts[0].words {
				head, _, _ := strings.Cut(word, ".")
				firsts = append(firsts, head)
			}
		}
	}
	for _, head := range firsts {
		quantity, _, unit := strings.Cut(head, "_")
		name := otherNames.Replace(rest)
		if (head == first || unit && quantity == first) && n.Has(head+"."+name) {
			return head + "." + name
		}
	}
	// The last words are wrong more often than all of them, and there may be more names
	// than are compared.
	for i := strings.LastIndexByte(text, '.'); i > 0; i = strings.LastIndexByte(text[:i], '.') {
		if near := spelling.Nearest(text, n.some(text[:i]+".*")); near != "" {
			return near
		}
	}
	if head := spelling.Nearest(first, firsts); dotted && head != "" {
		if near := spelling.Nearest(text, n.some(head+".*")); near != "" {
			return near
		}
	}
	return spelling.Nearest(text, n.some("*"))
}

// patterns returns the patterns of whole families: the words of their parts but for
// those after the first that have many, which are *.
func (n *NameSet) patterns() []string {
	var all []string
	for _, f := range n.families {
		if f.Lacks != "" {
			continue
		}
		forms := []string{""}
		for i, p := range f.Parts {
			words := p.words
			switch last := i > 0 && i == len(f.Parts)-1; {
			case i > 0 && len(words) > linearWords:
				words = []string{"*"}
			case last:
				words = append([]string{"*"}, words...)
			}
			var longer []string
			for _, form := range forms {
				for _, word := range words {
					longer = append(longer, form+word+".")
				}
			}
			forms = longer
		}
		for _, form := range forms {
			all = append(all, strings.TrimSuffix(form, "."))
		}
	}
	return all
}

// some returns the first names that match a pattern, up to maxCompared of them.
func (n *NameSet) some(pattern string) []string {
	var names []string
	for name := range n.Match(pattern) {
		if len(names) == maxCompared {
			break
		}
		names = append(names, name)
	}
	return names
}
