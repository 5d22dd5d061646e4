package grafana

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	gapi "github.com/grafana/grafana-api-golang-client"
)

// Run is a run folder that the data source has loaded.
type Run struct {
	Name     string // the value of the label run
	From, To time.Time
	Marks    []Mark // at most mostMarks
}

// Mark is a step or a phase of a run.
type Mark struct {
	From, To time.Time
	Text     string
	Tags     []string // beside those of the run
}

// mostMarks is how many marks a run may have. The dashboards ask for as many.
const mostMarks = 1000

// mostTag is how long a tag may be: Grafana's databases keep 100 characters of its name
// and of its value.
const mostTag = 100

// tag returns the tag that the annotations of a run have beside the tag csiglab.
func (r *Run) tag() string { return "run:" + r.Name }

// check refuses what Grafana cannot hold.
func (r *Run) check() error {
	switch {
	case len(r.Name) > mostTag:
		return fmt.Errorf("%w: the name has %d bytes; Grafana's tags have at most %d", ErrConfig, len(r.Name), mostTag)
	case len(r.Marks) > mostMarks:
		return fmt.Errorf("%w: %d marks, at most %d", ErrConfig, len(r.Marks), mostMarks)
	}
	return nil
}

// annotate brings the annotations of a run to those that it should have. The ones that are
// there already stay.
func (p *push) annotate(r *Run) error {
	have, err := p.Annotations(url.Values{"tags": {"csiglab", r.tag()}, "limit": {fmt.Sprint(10 * mostMarks)}, "type": {"annotation"}})
	if err != nil {
		return err
	}
	missing := map[string]int{} // index in Marks
	for i := range r.Marks {
		missing[key(annotation(r, &r.Marks[i]))] = i
	}
	var old []gapi.Annotation
	for i := range have {
		k := key(&have[i])
		if _, ok := missing[k]; ok {
			delete(missing, k)
			continue
		}
		old = append(old, have[i])
	}
	for _, i := range slices.Sorted(maps.Values(missing)) {
		id, err := p.NewAnnotation(annotation(r, &r.Marks[i]))
		if err != nil {
			return err
		}
		p.undo = append(p.undo, func(api *client) error { _, err := api.DeleteAnnotation(id); return err })
	}
	for i := range old {
		if _, err := p.DeleteAnnotation(old[i].ID); err != nil && !absent(err) {
			return err
		}
		again := gapi.Annotation{Time: old[i].Time, TimeEnd: old[i].TimeEnd, Text: old[i].Text, Tags: old[i].Tags, DashboardUID: old[i].DashboardUID, PanelID: old[i].PanelID}
		p.undo = append(p.undo, func(api *client) error { _, err := api.NewAnnotation(&again); return err })
	}
	did := unchanged
	switch {
	case len(have) == 0 && len(missing) > 0:
		did = created
	case len(missing) > 0 || len(old) > 0:
		did = updated
	}
	p.changes = append(p.changes, Change{What: "annotations", Name: fmt.Sprintf("%s (%d)", r.Name, len(r.Marks)), Did: did})
	return nil
}

func annotation(r *Run, m *Mark) *gapi.Annotation {
	return &gapi.Annotation{
		Time: m.From.UnixMilli(), TimeEnd: max(m.From.UnixMilli(), m.To.UnixMilli()), Text: cmp.Or(m.Text, "step"),
		Tags: append([]string{"csiglab", r.tag()}, m.Tags...),
	}
}

// key is equal for annotations that show the same.
func key(a *gapi.Annotation) string {
	tags := slices.Sorted(slices.Values(a.Tags))
	return fmt.Sprintf("%d %d %q %q", a.Time, max(a.Time, a.TimeEnd), strings.TrimSpace(a.Text), tags)
}
