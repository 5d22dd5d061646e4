package plan

import "fmt"

// serverNotes returns a remark on transfers between NICs of one server: they take the
// fabric here, where a real server would move the data inside.
func serverNotes(p *Plan) []string {
	if p.Graph.NICs < 2 {
		return nil
	}
	within := 0
	transfers := p.Completing()
	for _, f := range p.Flows[:transfers] {
		if p.Graph.Server(int(f.Src)) == p.Graph.Server(int(f.Dst)) {
			within++
		}
	}
	if within == 0 {
		return nil
	}
	return []string{fmt.Sprintf("workload: %d of %d transfers are between NICs of one server; they cross the fabric, as the links inside a server are not modelled", within, transfers)}
}
