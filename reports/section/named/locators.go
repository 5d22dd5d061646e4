package named

import (
	"reflect"
	"slices"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// SharedLocators are the locators of variants that stand for several switch ports each:
// a tag with one of them does not say which port wrote its signal.
type SharedLocators struct {
	Variants []string            `json:"variants"`         // with these locators, in the experiment's order
	Format   string              `json:"format,omitempty"` // of the tags, in a fabric of two formats
	Scheme   string              `json:"scheme"`           // structured or registry
	Ports    int                 `json:"ports"`            // of the fabric's switches
	Sharing  int                 `json:"sharing"`          // ports that share their locators
	Distinct int                 `json:"distinct"`         // locators that the ports have
	Locators []runfolder.Locator `json:"locators"`         // shared ones, ascending
	Remedy   string              `json:"remedy"`           // setting with which no two ports share a locator; "" if there is none
}

// sharedLocators lists the variants with shared locators. Those with the same table are
// one entry.
func sharedLocators(m *runfolder.Manifest) []SharedLocators {
	all := []SharedLocators{}
	for _, v := range m.Variants {
		if v.Locators == nil {
			continue
		}
		list, second := v.Locators.Formats()
		all = addShared(all, v.Name, SharedLocators{Scheme: v.Locators.Scheme, Remedy: v.Locators.Remedy, Format: formatIn(&v, v.CSIG)}, list)
		all = addShared(all, v.Name, SharedLocators{Scheme: v.Locators.SecondScheme, Remedy: v.Locators.SecondRemedy, Format: v.Second}, second)
	}
	return all
}

// formatIn returns the name of a format, "" in a variant with one.
func formatIn(v *runfolder.Variant, format string) string {
	if v.Second == "" {
		return ""
	}
	return format
}

// addShared adds the locators of one format of a variant, if ports share some.
func addShared(all []SharedLocators, variant string, s SharedLocators, list []runfolder.Locator) []SharedLocators {
	s.Distinct = len(list)
	for _, l := range list {
		s.Ports += len(l.Ports)
		if len(l.Ports) > 1 {
			s.Sharing += len(l.Ports)
			s.Locators = append(s.Locators, l)
		}
	}
	if s.Sharing == 0 {
		return all
	}
	same := func(o SharedLocators) bool {
		return o.Format == s.Format && o.Scheme == s.Scheme && o.Ports == s.Ports && reflect.DeepEqual(o.Locators, s.Locators)
	}
	i := slices.IndexFunc(all, same)
	if i < 0 {
		i = len(all)
		all = append(all, s)
	}
	all[i].Variants = append(all[i].Variants, variant)
	return all
}
