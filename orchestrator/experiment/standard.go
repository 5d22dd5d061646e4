package experiment

import (
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/balance"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/nodes/switch/aqm"
	"github.com/csiglab/csiglab/nodes/switch/forward"
)

// StandardTables returns the algorithms and quantisers that csiglab's nodes
// have.
func StandardTables() Tables {
	return Tables{CC: congestion.Table.Specs(), LB: balance.Table.Specs(), AQM: aqm.Table.Specs(), Routing: forward.Table.Specs(), Quantisers: checkQuantiser}
}

// checkQuantiser asks the csig package for a domain with this quantiser.
func checkQuantiser(format csig.Format, signal csig.Type, name string) error {
	c := csig.Config{Format: format}
	c.Quantisers[signal].Name = name
	_, err := csig.NewDomain(c)
	return err
}
