package experiment

import (
	"fmt"
	"strconv"

	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/balance"
	"github.com/csiglab/csiglab/nodes/host/congestion"
)

// StandardTables returns the algorithms and quantisers that csiglab's nodes
// have.
func StandardTables() Tables {
	var t Tables
	for _, a := range congestion.Table {
		spec := AlgorithmSpec{Name: a.Name, Doc: a.Doc}
		for _, p := range a.Params {
			spec.Params = append(spec.Params, ParamSpec{
				Name: p.Name, Kind: ParamKind(p.Kind), Values: p.Values, Default: p.Default, Doc: p.Doc, Check: p.Check,
			})
		}
		t.CC = append(t.CC, spec)
	}
	for _, a := range balance.Table {
		t.LB = append(t.LB, AlgorithmSpec{Name: a.Name, Doc: a.Doc, Params: []ParamSpec{{
			Name: "paths", Kind: Int, Default: strconv.Itoa(balance.DefaultPaths),
			Doc:   "number of entropy values, a power of two",
			Check: checkPaths,
		}}})
	}
	t.Quantisers = checkQuantiser
	return t
}

func checkPaths(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > balance.MaxPaths || n&(n-1) != 0 {
		return fmt.Errorf("%s is not a power of two from 1 to %d", text, balance.MaxPaths)
	}
	return nil
}

// checkQuantiser asks the csig package for a domain with this quantiser.
func checkQuantiser(format, signal, name string) error {
	f, err := csig.ParseFormat(format)
	if err != nil {
		return err
	}
	typ, err := csig.ParseType(signal)
	if err != nil {
		return err
	}
	c := csig.Config{Format: f}
	c.Quantisers[typ].Name = name
	_, err = csig.NewDomain(c)
	return err
}
