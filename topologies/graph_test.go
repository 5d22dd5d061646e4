
func TestHosts(t *testing.T) {
	for hosts := range 5 {
		for switches := range 3 {
			var g Graph
			for i := range hosts + switches {
				kind := Host
				if i >= hosts {
					kind = Switch
				}
				g.Nodes = append(g.Nodes, Node{Kind: kind})
			}
			if got := g.Hosts(); got != hosts {
				t.Errorf("%d hosts and %d switches: Hosts is %d", hosts, switches, got)
			}
		}
	}
}
