package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/lazy"
	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/nodes/capture"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
)

// capturedPorts returns the ports of the links that the experiment captures, but for those of
// foreign nodes.
func capturedPorts(f *fabric, links []string) ([]capture.Port, error) {
	g := f.graph
	ports, err := capture.Ports(g, links)
	if errors.Is(err, capture.ErrLink) {
		names := g.LinkNames()
		for i, name := range links {
			if !slices.Contains(names, name) {
				return nil, failure.At(fmt.Sprintf("capture[%d]", i), UnknownLink(name, names))
			}
		}
	}
	if err != nil {
		return nil, failure.At("capture", err)
	}
	return slices.DeleteFunc(ports, func(p capture.Port) bool { return f.isForeign(p.Node) }), nil
}

// UnknownLink returns the error of a link that is to be captured and is not among
// the given ones. It wraps capture.ErrLink.
func UnknownLink(name string, names []string) error {
	err := fmt.Errorf("%q: %w%s", name, capture.ErrLink, spelling.Hint(nearestLink(name, names)))
	// List one link of each pair of tiers rather than the first of a thousand.
	var kinds, like []string
	for _, n := range names {
		kind := digits().ReplaceAllString(n, "")
		if !slices.Contains(kinds, kind) {
			kinds, like = append(kinds, kind), append(like, n)
		}
	}
	return fmt.Errorf("%w; the %d links are called like %s", err, len(names), strings.Join(like, ", "))
}

// digits are the numbers of nodes in names of links.
var digits = lazy.Regexp(`[0-9]+`)

// tierNames replace other common names of the switches of a tier by the names used
// here: the top tier is agg with two tiers and core with three.
var tierNames = []*strings.Replacer{
	strings.NewReplacer("leaf", "tor", "edge", "tor", "spine", "agg"),
	strings.NewReplacer("leaf", "tor", "edge", "tor", "spine", "core"),
}

// nearestLink returns the link whose name is most like the given one, "" if none is
// near.
func nearestLink(name string, names []string) string {
	tries := []string{name}
	for _, r := range tierNames {
		tries = append(tries, r.Replace(strings.ToLower(name)))
	}
	for _, try := range tries {
		if slices.Contains(names, try) {
			return try
		}
		if a, b, ok := strings.Cut(try, "-"); ok && slices.Contains(names, b+"-"+a) {
			return b + "-" + a // from the hosts up, as all are
		}
	}
	return spelling.Nearest(name, names)
}
