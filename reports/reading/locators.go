package reading

import "github.com/csiglab/csiglab/metrics/runfolder"

// LocatorsOf returns the locators of a variant; nil if it has none.
func LocatorsOf(m *runfolder.Manifest, variant string) *runfolder.LocatorTable {
	for _, v := range m.Variants {
		if v.Name == variant {
			return v.Locators
		}
	}
	return nil
}

// PortsByLocator returns the ports of each locator. It is nil without a table.
func PortsByLocator(t *runfolder.LocatorTable) map[int32][]string {
	if t == nil {
		return nil
	}
	ports := make(map[int32][]string, len(t.Locators))
	for _, l := range t.Locators {
		ports[l.Locator] = l.Ports
	}
	return ports
}

// PortsOf returns the ports that a locator stands for: none when no hop wrote the
// tag.
func PortsOf(ports map[int32][]string, locator int32) []string {
	if locator == 0 {
		return []string{}
	}
	if names, ok := ports[locator]; ok {
		return names
	}
	return []string{"unknown port"}
}
