package cli

// The panels of dashboards are evaluated as Grafana does, over the HTTP API of a Prometheus:
// variables and intervals are filled in, and the transformations that csiglab's dashboards
// use are applied. Nothing is drawn.

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// prometheusServer is a server that panels are evaluated with.
type prometheusServer struct {
	URL   string
	Token string // "": none
}

// panelVariables are the values of a dashboard's variables, by their names.
type panelVariables map[string]string

// panelResult is what a panel shows.
type panelResult struct {
	Title, Kind, Description string
	// Rows are how many values in the time range each query returned, by its refId. A value
	// that is not a number does not count.
	Rows map[string]int
	// Last are the last values of each query, by its refId and the text of the labels.
	Last map[string]map[string]float64
	// Columns and Table are those of a table after its transformations.
	Columns []string
	Table   [][]string
	Missing []string // columns that a table has in no row
}

// Empty reports whether a query of the panel returned nothing.
func (r *panelResult) Empty() bool {
	for _, n := range r.Rows {
		if n == 0 {
			return true
		}
	}
	return false
}

type dashboardModel struct {
	Templating struct {
		List []struct {
			Name, Type string
			Query      json.RawMessage
			IncludeAll bool
			Sort       int
			AllValue   string
			AutoCount  int    `json:"auto_count"`
			AutoMin    string `json:"auto_min"`
		}
	}
	Panels []dashboardPanel
}

type dashboardPanel struct {
	Type, Title, Description string
	Targets                  []panelQuery
	Panels                   []dashboardPanel // of a closed row
	Transformations          []struct {
		ID      string
		Options struct {
			ExcludeByName map[string]bool
			IndexByName   map[string]int
			RenameByName  map[string]string

			RowField, ColumnField, ValueField string
		}
	}
}

type panelQuery struct {
	RefID, Expr, Format, Interval string
	Instant                       bool
}

// evaluatePanels asks for all panels of a dashboard, in classic JSON, in a time range. set has
// the variables that the test chooses; those of type query have the first value that the
// server knows otherwise, or All where a dashboard allows that.
func evaluatePanels(p prometheusServer, dashboard []byte, set panelVariables, from, to time.Time) ([]panelResult, error) {
	var m dashboardModel
	if err := json.Unmarshal(dashboard, &m); err != nil {
		return nil, err
	}
	values := panelVariables{}
	for _, v := range m.Templating.List {
		chosen, ok := set[v.Name]
		switch {
		case ok:
		case v.Type == "interval":
			chosen = promDuration(max(roundInterval(to.Sub(from)/time.Duration(v.AutoCount)), parseInterval(v.AutoMin)))
		case v.IncludeAll:
			chosen = v.AllValue
			if list, err := p.values(v.Query, values, from, to); err != nil {
				return nil, fmt.Errorf("variable %s: %w", v.Name, err)
			} else if len(list) == 1 { // as in a panel that is repeated for each value
				chosen = list[0]
			}
		case v.Type == "query":
			list, err := p.values(v.Query, values, from, to)
			if err != nil {
				return nil, fmt.Errorf("variable %s: %w", v.Name, err)
			}
			if len(list) == 0 {
				return nil, fmt.Errorf("variable %s: %s has no value", v.Name, v.Query)
			}
			chosen = list[0]
			if v.Sort == descending {
				chosen = list[len(list)-1]
			}
		}
		values[v.Name] = chosen
	}
	var results []panelResult
	for i := 0; i < len(m.Panels); i++ {
		m.Panels = append(m.Panels, m.Panels[i].Panels...)
		if len(m.Panels[i].Targets) == 0 {
			continue
		}
		r, err := p.evaluate(&m.Panels[i], values, from, to)
		if err != nil {
			return nil, fmt.Errorf("panel %s: %w", m.Panels[i].Title, err)
		}
		results = append(results, r)
	}
	return results, nil
}

// descending is Grafana's number of that order of a variable's values.
const descending = 2

// values asks for the values of a variable.
func (p prometheusServer) values(query json.RawMessage, known panelVariables, from, to time.Time) ([]string, error) {
	var q struct{ Query string }
	if err := json.Unmarshal(query, &q); err != nil {
		return nil, err
	}
	return p.labelValues(known.fill(q.Query), from, to)
}

// fill replaces variables, the longest names first, as Grafana reads names to their end.
func (v panelVariables) fill(text string) string {
	names := []string{}
	for name := range v {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) })
	for _, name := range names {
		value := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(v[name])
		text = strings.ReplaceAll(strings.ReplaceAll(text, "${"+name+"}", value), "$"+name, value)
	}
	return text
}

// panelWidth is how many points a panel is wide.
const panelWidth = 800

// scrapeInterval is the timeInterval of csiglab's data source.
const scrapeInterval = time.Second

func (p prometheusServer) evaluate(a *dashboardPanel, values panelVariables, from, to time.Time) (panelResult, error) {
	r := panelResult{Title: a.Title, Kind: a.Type, Description: a.Description, Rows: map[string]int{}, Last: map[string]map[string]float64{}}
	var frames []queryFrame
	for _, t := range a.Targets {
		least := scrapeInterval
		if t.Interval != "" {
			least = parseInterval(values.fill(t.Interval))
		}
		step := max(roundInterval(to.Sub(from)/panelWidth), least)
		all := panelVariables{
			"__interval_ms": fmt.Sprint(step.Milliseconds()), "__interval": promDuration(step), "__range_ms": fmt.Sprint(to.Sub(from).Milliseconds()),
		}
		for name, value := range values {
			all[name] = value
		}
		list, err := p.query(all.fill(t.Expr), from, to, step, t.Instant)
		if err != nil {
			return r, err
		}
		r.Rows[t.RefID], r.Last[t.RefID] = 0, map[string]float64{}
		for _, s := range list {
			r.Rows[t.RefID] += s.count(from, to)
			if points := s.points(); len(points) > 0 {
				r.Last[t.RefID][s.text()] = points[len(points)-1].Value
			}
		}
		name := "Value"
		if len(a.Targets) > 1 {
			name += " #" + t.RefID
		}
		frames = append(frames, queryFrame{name, list})
	}
	if a.Type != "table" {
		return r, nil
	}
	r.table(mergeFrames(frames), a)
	return r, nil
}

// queryFrame is the answer to a query of a table.
type queryFrame struct {
	value  string // name of the column with the values
	series []querySeries
}

// mergeFrames joins the rows of several queries that agree in the labels that all of them have, as
// the transformation of that name does.
func mergeFrames(frames []queryFrame) (rows []map[string]string) {
	byLabels, common := map[string]map[string]string{}, map[string]int{}
	for _, f := range frames {
		names := map[string]bool{}
		for _, s := range f.series {
			for name := range s.Metric {
				names[name] = true
			}
		}
		for name := range names {
			common[name]++
		}
	}
	for _, f := range frames {
		for _, s := range f.series {
			key := ""
			for _, name := range slices.Sorted(maps.Keys(s.Metric)) {
				if common[name] == len(frames) {
					key += fmt.Sprintf("%s=%q ", name, s.Metric[name])
				}
			}
			row, ok := byLabels[key]
			if !ok {
				row = map[string]string{}
				byLabels[key], rows = row, append(rows, row)
			}
			for name, value := range s.Metric {
				row[name] = value
			}
			for _, v := range s.points() {
				row[f.value] = fmt.Sprint(v.Value)
			}
		}
	}
	return rows
}

// table applies the transformation organize, which leaves columns out, orders and names them, or
// groupingToMatrix.
func (r *panelResult) table(rows []map[string]string, a *dashboardPanel) {
	for _, t := range a.Transformations {
		if t.ID == "groupingToMatrix" {
			for _, row := range rows {
				r.Columns = append(r.Columns, row[t.Options.ColumnField])
				r.Table = append(r.Table, []string{row[t.Options.RowField], row[t.Options.ColumnField], row[t.Options.ValueField]})
			}
		}
		if t.ID != "organize" {
			continue
		}
		var fields []string
		for field := range t.Options.IndexByName {
			switch {
			case t.Options.ExcludeByName[field]:
			case slices.ContainsFunc(rows, func(row map[string]string) bool { return row[field] != "" }):
				fields = append(fields, field)
			default:
				r.Missing = append(r.Missing, t.Options.RenameByName[field])
			}
		}
		slices.SortFunc(fields, func(a, b string) int { return t.Options.IndexByName[a] - t.Options.IndexByName[b] })
		for _, field := range fields {
			r.Columns = append(r.Columns, t.Options.RenameByName[field])
		}
		for _, row := range rows {
			cells := []string{}
			for _, field := range fields {
				cells = append(cells, row[field])
			}
			r.Table = append(r.Table, cells)
		}
	}
}

// querySeries is a series of an answer.
type querySeries struct {
	Metric map[string]string
	Value  []any
	Values [][]any
}

// text returns the values of the labels that are not empty, by the names of the labels.
func (s *querySeries) text() string {
	var values []string
	for _, name := range slices.Sorted(maps.Keys(s.Metric)) {
		if s.Metric[name] != "" {
			values = append(values, s.Metric[name])
		}
	}
	return strings.Join(values, " ")
}

// queryPoint is a value at a moment.
type queryPoint struct {
	At    time.Time
	Value float64
}

func (s *querySeries) points() (list []queryPoint) {
	values := s.Values
	if s.Value != nil {
		values = append(values, s.Value)
	}
	for _, v := range values {
		at, ok := v[0].(float64)
		text, isText := v[1].(string)
		value, err := strconv.ParseFloat(text, 64)
		if ok && isText && err == nil && !math.IsNaN(value) {
			list = append(list, queryPoint{time.UnixMilli(int64(at * 1000)), value})
		}
	}
	return list
}

func (s *querySeries) count(from, to time.Time) (n int) {
	for _, v := range s.points() {
		if !v.At.Before(from.Add(-time.Minute)) && !v.At.After(to.Add(time.Minute)) {
			n++
		}
	}
	return n
}

func (p prometheusServer) query(expr string, from, to time.Time, step time.Duration, instant bool) ([]querySeries, error) {
	form, path := url.Values{"query": {expr}}, "query_range"
	if instant {
		path = "query"
		form.Set("time", unixSeconds(to))
	} else {
		align := func(t time.Time) time.Time { return time.Unix(0, t.UnixNano()/int64(step)*int64(step)) }
		form.Set("start", unixSeconds(align(from)))
		form.Set("end", unixSeconds(align(to)))
		form.Set("step", fmt.Sprint(step.Seconds()))
	}
	var data struct{ Result []querySeries }
	err := p.ask(http.MethodPost, path, form, &data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", expr, err)
	}
	return data.Result, nil
}

// labelValues answers label_values(metric, label).
func (p prometheusServer) labelValues(query string, from, to time.Time) (values []string, err error) {
	inner, ok := strings.CutPrefix(query, "label_values(")
	at := strings.LastIndex(inner, ",")
	if !ok || at < 0 || !strings.HasSuffix(inner, ")") {
		return nil, fmt.Errorf("%s is not label_values(…)", query)
	}
	label := strings.TrimSpace(strings.TrimSuffix(inner[at+1:], ")"))
	err = p.ask(http.MethodGet, "label/"+label+"/values", url.Values{"match[]": {inner[:at]}, "start": {unixSeconds(from)}, "end": {unixSeconds(to)}}, &values)
	return values, err
}

// ask calls the HTTP API.
func (p prometheusServer) ask(method, path string, form url.Values, data any) error {
	address, body := p.URL+"/api/v1/"+path, io.Reader(strings.NewReader(form.Encode()))
	if method == http.MethodGet {
		address, body = address+"?"+form.Encode(), http.NoBody
	}
	request, err := http.NewRequest(method, address, body)
	if err != nil {
		return err
	}
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if p.Token != "" {
		request.Header.Set("Authorization", "Bearer "+p.Token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var answer struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return fmt.Errorf("status %d: %w", response.StatusCode, err)
	}
	if answer.Status != "success" {
		return fmt.Errorf("status %d: %s", response.StatusCode, answer.Error)
	}
	return json.Unmarshal(answer.Data, data)
}

func unixSeconds(t time.Time) string {
	return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64)
}

// promDuration writes a duration for PromQL, which takes no fraction.
func promDuration(d time.Duration) string { return fmt.Sprint(d.Milliseconds()) + "ms" }

// parseInterval reads an interval of a dashboard.
func parseInterval(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		panic("interval " + text)
	}
	return d
}

// niceIntervals are the intervals that Grafana rounds to, and up to which each is chosen, in ms.
var niceIntervals = [][2]int64{
	{10, 1}, {15, 10}, {35, 20}, {75, 50}, {150, 100}, {350, 200}, {750, 500}, {1500, 1000}, {3500, 2000}, {7500, 5000}, {12500, 10000}, {17500, 15000},
	{25000, 20000}, {45000, 30000}, {90000, 60000}, {210000, 120000}, {450000, 300000},
}

// roundInterval is Grafana's function of that name, up to ten minutes.
func roundInterval(d time.Duration) time.Duration {
	for _, n := range niceIntervals {
		if d.Milliseconds() < n[0] {
			return time.Duration(n[1]) * time.Millisecond
		}
	}
	return 10 * time.Minute
}
