package dashboards

// What tables and lines look like: the columns of tables, colours, dashes, units of columns.

import (
	"fmt"
	"regexp"
	"strings"
)

// hidden lists the labels that the families of csiglab have. A table hides those that are
// not among its columns.
var hidden = []string{"Time", "__name__", "instance", "run", "variant", "seed", "stretch", "experiment", "runtime", "clock", "cc", "lb", "aqm", "csig",
	"node", "port", "tier", "direction", "job", "flow", "metric", "subject", "unit", "better", "Value", "Value #A"}

// transformations join the queries of a table by their labels, and order and name its
// columns; or make a matrix of one. (They cannot name the fields of a graph: those are labels.)
func (p *Panel) transformations() (list []object) {
	switch {
	case p.Kind != Table:
		return nil
	case p.Matrix[0] != "":
		return []object{{"id": "groupingToMatrix", "options": object{"rowField": p.Matrix[0], "columnField": p.Matrix[1], "valueField": p.Matrix[2], "emptyValue": "empty"}}}
	}
	hide, order, names := object{}, object{}, object{}
	for _, field := range hidden {
		hide[field] = true
	}
	for i, c := range p.Columns {
		delete(hide, c.Field)
		order[c.Field], names[c.Field] = i, c.Name
	}
	list = []object{{"id": "organize", "options": object{"excludeByName": hide, "indexByName": order, "renameByName": names}}}
	if p.Order != "" {
		list = append([]object{{"id": "sortBy", "options": object{"sort": []object{{"field": p.Order, "desc": true}}}}}, list...)
		hide[p.Order] = true
	}
	if len(p.Queries) > 1 {
		list = append([]object{{"id": "merge", "options": object{}}}, list...)
	}
	return list
}

// variantColours are those of the variants, by their numbers, and again from the eleventh on.
var variantColours = [...]string{"#3274d9", "#ff780a", "#37872d", "#e02f44", "#a352cc", "#00a0a8", "#b8860b", "#8f5a2b", "#f78fb3", "#808080"}

// dashes are those of the first query, the second one, and so on.
var dashes = [...][]int{nil, {10, 10}, {2, 6}}

// hues give lines their colours: by the number of their variant, which the legend begins with and
// that is not shown in the end, or by their names.
func (p *Panel) hues() (list []object) {
	add := func(matcher, of, property string, value any) {
		list = append(list, object{"matcher": object{"id": matcher, "options": of}, "properties": []object{{"id": property, "value": value}}})
	}
	fixed := func(colour string) object { return object{"mode": "fixed", "fixedColor": colour} }
	for _, m := range p.Colours {
		add("byRegexp", m.Names, "color", fixed(m.Colour))
	}
	if !p.Hues {
		return list
	}
	for i, width := range []int{4, 2} { // so that they are seen below others
		add("byRegexp", fmt.Sprintf("^%d .*", i+1), "custom.lineWidth", width)
	}
	for i, colour := range variantColours {
		add("byRegexp", fmt.Sprintf("^[0-9]*%d .*", (i+1)%len(variantColours)), "color", fixed(colour))
	}
	for i, q := range p.Queries {
		ref := string(rune('A' + i))
		if i > 0 {
			add("byFrameRefID", ref, "custom.lineStyle", object{"fill": "dash", "dash": dashes[i]})
		}
		add("byFrameRefID", ref, "displayName", legendLabel.ReplaceAllString(q.Legend, "$${__field.labels.$1}"))
	}
	return list
}

var legendLabel = regexp.MustCompile(`{{(.*?)}}`)

// overrides give the columns of a table their units, colours and links.
func (p *Panel) overrides() []object {
	list := []object{}
	add := func(column string, properties ...object) {
		list = append(list, object{"matcher": object{"id": "byName", "options": column}, "properties": properties})
	}
	if p.Kind == Table { // the noValue of the panel is of the whole table
		list = append(list, object{"matcher": object{"id": "byRegexp", "options": ".*"}, "properties": []object{{"id": "noValue", "value": none}}})
		nan := []object{{"type": "special", "options": object{"match": "nan", "result": object{"text": none}}}}
		list = append(list, object{"matcher": object{"id": "byType", "options": "number"}, "properties": []object{{"id": "mappings", "value": nan}}})
	}
	for _, c := range p.Columns {
		if c.Unit != "" {
			add(c.Name, object{"id": "unit", "value": c.Unit})
		}
	}
	if p.fallback() {
		add(p.Columns[0].Name, object{"id": "custom.width", "value": 140 + 140*len(p.Empty)})
	}
	for _, l := range p.Looks {
		var list []object
		if l.Width > 0 {
			list = append(list, object{"id": "custom.width", "value": l.Width})
		}
		switch {
		case l.Bar:
			list = append(list, object{"id": "custom.cellOptions", "value": object{"type": "gauge", "mode": "basic"}}, object{"id": "color", "value": object{"mode": "continuous-BlPu"}}, object{"id": "max", "value": 1})
		default:
			list = append(list, object{"id": "custom.cellOptions", "value": object{"type": "color-text"}})
		}
		if len(l.Values) > 0 {
			list = append(list, object{"id": "mappings", "value": mappings(l.Values)})
		}
		if len(l.Steps) > 0 {
			list = append(list, object{"id": "thresholds", "value": thresholds(l.Steps)}, object{"id": "color", "value": object{"mode": "thresholds"}})
		}
		add(l.Column, list...)
	}
	for _, l := range p.Links {
		add(l.Field, object{"id": "links", "value": []object{{"title": l.Title, "url": l.URL}}})
	}
	for i, q := range p.Queries {
		run, _, ok := strings.Cut(q.Legend, ": ")
		if p.Kind != Timeseries || !ok {
			continue
		}
		properties := []object{{"id": "color", "value": object{"mode": "fixed", "fixedColor": variantColours[i]}}}
		switch run {
		case "1":
			properties = append(properties, object{"id": "custom.lineWidth", "value": 3})
		case "2":
			properties = append(properties, object{"id": "custom.lineStyle", "value": object{"fill": "dash", "dash": dashes[1]}})
		}
		list = append(list, object{"matcher": object{"id": "byFrameRefID", "options": string(rune('A' + i))}, "properties": properties})
	}
	list = append(list, p.hues()...)
	if p.Matrix[0] != "" && p.Unit != "" {
		// The first column has the names of the rows.
		list = append(list, object{"matcher": object{"id": "byType", "options": "number"}, "properties": []object{{"id": "custom.cellOptions", "value": object{"type": "color-background", "mode": "basic"}}}})
	}
	return list
}

// mappings writes texts for values.
func mappings(list []Mapping) []object {
	if len(list) == 0 {
		return []object{}
	}
	values := object{}
	for i, m := range list {
		values[m.Value] = object{"index": i, "text": m.Text, "color": m.Colour}
	}
	return []object{{"type": "value", "options": values}}
}

// thresholds writes colours from values on.
func thresholds(colours []Step) object {
	var steps []object
	for i, s := range colours {
		var from any = s.From
		if i == 0 {
			from = nil // Grafana's word for the least value
		}
		steps = append(steps, object{"value": from, "color": s.Colour})
	}
	return object{"mode": "absolute", "steps": steps}
}
