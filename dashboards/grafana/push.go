// Package grafana brings csiglab's dashboards to Grafana: Push sends them to a server over
// its API, Provision writes the files that a server reads at its start. It is no data
// source: that is csiglab serve, or a Prometheus.
package grafana

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"time"

	gapi "github.com/grafana/grafana-api-golang-client"

	"github.com/csiglab/csiglab/dashboards"
)

// What a push creates. The UIDs are stable, so that another push finds it.
const (
	folderUID      = "csiglab"
	folderTitle    = "csiglab"
	dataSourceUID  = "csiglab"
	dataSourceName = "csiglab"
)

// Config is what to push, and where.
type Config struct {
	URL   string // of Grafana, such as http://localhost:3000
	Token string // of a service account that may change folders, dashboards and data sources
	// DataSource is the Prometheus that the dashboards read.
	DataSource DataSource
	Runs       []Run         // whose time the dashboards show
	Message    string        // of new versions of dashboards
	Timeout    time.Duration // of one request; 0: defaultTimeout
}

// DataSource is a Prometheus, as Grafana reaches it.
type DataSource struct {
	URL   string // such as http://localhost:9090
	Token string // that it asks for; "": none
}

// Change is what a push did to one thing.
type Change struct {
	What string // such as dashboard
	Name string
	Did  Did
	URL  *url.URL // of a dashboard, in Grafana; otherwise nil
}

// Did is what became of a thing.
type Did string

// What can become of a thing.
const (
	created   Did = "created"
	updated   Did = "updated"
	unchanged Did = "unchanged"
)

// Push brings folder, dashboards and data source to the state that the Config
// says, and returns what it changed. What is as it should be already is not touched, with
// one exception: a data source with a token is written each time, since Grafana does not
// tell which token it has.
//
// Push changes nothing before it knows that the server is there, is new enough, and lets
// the token do everything. If a later step fails, it takes back the steps before: what it
// created is deleted, what it changed gets its former content. The error then is that of
// the step, joined with those of taking back, if there are any. Errors wrap ErrUnreachable,
// ErrNoGrafana, ErrToken, ErrPermission, ErrOld or ErrConfig where one of them is the reason, or the
// error of ctx.
func Push(ctx context.Context, c Config) (changes []Change, err error) {
	address, err := parseURL(c.URL)
	if err != nil {
		return nil, fmt.Errorf("grafana: %w", err)
	}
	if err := checkToken(c.Token); err != nil {
		return nil, fmt.Errorf("grafana: %w", err)
	}
	if _, err := parseURL(c.DataSource.URL); err != nil {
		return nil, fmt.Errorf("data source: %w", err)
	}
	c.Timeout = cmp.Or(c.Timeout, defaultTimeout)
	api, err := newClient(ctx, address, c.Token, c.Timeout, c.DataSource.Token)
	if err != nil {
		return nil, fmt.Errorf("grafana: %w", err)
	}
	defer api.close()
	p := &push{client: api, config: c}
	if err := p.run(); err != nil {
		err = fmt.Errorf("grafana %s: %w", address, err)
		return nil, errors.Join(err, p.takeBack(ctx, address))
	}
	return p.changes, nil
}

// push is one push.
type push struct {
	*client
	config  Config
	changes []Change
	undo    []func(api *client) error // of what was done, in that order
}

func (p *push) run() error {
	if err := p.check(); err != nil {
		return p.bare(err)
	}
	// Everything is read and compared before the first change.
	source, err := p.planDataSource()
	if err != nil {
		return fmt.Errorf("data source: %w", p.bare(err))
	}
	if err := p.folder(); err != nil {
		return fmt.Errorf("folder: %w", p.bare(err))
	}
	for _, d := range dashboards.All() {
		if err := p.dashboard(&d); err != nil {
			return fmt.Errorf("dashboard %s: %w", d.UID, p.bare(err))
		}
	}
	// The data source is the last one: its former token cannot be restored.
	if err := source(); err != nil {
		return fmt.Errorf("data source: %w", p.bare(err))
	}
	return nil
}

// takeBack undoes what was done, the latest step first, also if ctx has ended.
func (p *push) takeBack(ctx context.Context, address *url.URL) error {
	if len(p.undo) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*p.config.Timeout)
	defer cancel()
	api, err := newClient(ctx, address, p.config.Token, p.config.Timeout, p.config.DataSource.Token)
	if err != nil {
		return err
	}
	defer api.close()
	var errs []error
	for i := len(p.undo) - 1; i >= 0; i-- {
		if err := p.undo[i](api); err != nil && !absent(err) {
			errs = append(errs, fmt.Errorf("taking back: %w", p.bare(err)))
		}
	}
	return errors.Join(errs...)
}

func (p *push) changed(what, name string, did Did, undo func(api *client) error) {
	p.changes = append(p.changes, Change{What: what, Name: p.shown(name, mostShown), Did: did})
	if undo != nil {
		p.undo = append(p.undo, undo)
	}
}

// folder creates the folder, unless there is one, under whatever title.
func (p *push) folder() error {
	have, err := p.FolderByUID(folderUID)
	switch {
	case err == nil:
		p.changed("folder", have.Title, unchanged, nil)
		return nil
	case !absent(err):
		return err
	}
	if _, err := p.NewFolder(folderTitle, folderUID); err != nil {
		return err
	}
	p.changed("folder", folderTitle, created, func(api *client) error { return api.DeleteFolder(folderUID) })
	return nil
}

// dashboard saves a dashboard, unless the server has it as it should be. It stays in the
// folder in which the user has put it.
func (p *push) dashboard(d *dashboards.Dashboard) error {
	model, err := p.model(d)
	if err != nil {
		return err
	}
	have, err := p.DashboardByUID(d.UID)
	page := p.page(d.UID)
	switch {
	case absent(err):
		if _, err := p.NewDashboard(gapi.Dashboard{Model: model, FolderUID: folderUID, Message: p.config.Message}); err != nil {
			return err
		}
		p.changed("dashboard", d.UID, created, func(api *client) error { return api.DeleteDashboardByUID(d.UID) })
	case err != nil:
		return err
	case same(have.Model, model):
		p.changed("dashboard", d.UID, unchanged, nil)
	default:
		old := gapi.Dashboard{Model: have.Model, FolderUID: have.Meta.FolderUID, Overwrite: true, Message: "csiglab: taken back"}
		if _, err := p.NewDashboard(gapi.Dashboard{Model: model, FolderUID: have.Meta.FolderUID, Overwrite: true, Message: p.config.Message}); err != nil {
			return err
		}
		p.changed("dashboard", d.UID, updated, func(api *client) error { _, err := api.NewDashboard(old); return err })
	}
	p.changes[len(p.changes)-1].URL = page
	return nil
}

// page returns the address of a dashboard.
func (p *push) page(uid string) *url.URL {
	u := p.url.JoinPath("d", uid)
	if len(p.config.Runs) > 0 {
		from, to, _ := span(p.config.Runs[:1])
		u.RawQuery = url.Values{
			"from": {fmt.Sprint(from.UnixMilli())}, "to": {fmt.Sprint(to.UnixMilli())},
			"var-run": {p.config.Runs[0].Name}, "var-datasource": {dataSourceUID},
		}.Encode()
	}
	return u
}

// model returns a dashboard as the server should have it.
func (p *push) model(d *dashboards.Dashboard) (map[string]any, error) {
	var model map[string]any
	if err := json.Unmarshal(d.JSON, &model); err != nil {
		return nil, err
	}
	showTime(model, p.config.Runs)
	return model, nil
}

// showTime makes a dashboard show the time of run folders, which does not move. Without
// any it shows the last minutes, which is right for labs.
func showTime(model map[string]any, runs []Run) {
	if from, to, ok := span(runs); ok {
		model["time"] = map[string]any{"from": from.UTC().Format(iso), "to": to.UTC().Format(iso)}
		model["refresh"] = ""
	}
}

// iso is the form in which Grafana writes times into dashboards.
const iso = "2006-01-02T15:04:05.000Z"

// span returns the time from the beginning of the first run to the end of the last one,
// with some room.
func span(runs []Run) (from, to time.Time, ok bool) {
	for _, r := range runs {
		if from.IsZero() || r.From.Before(from) {
			from = r.From
		}
		if r.To.After(to) {
			to = r.To
		}
	}
	room := max(to.Sub(from)/50, time.Second)
	return from.Add(-room), to.Add(room), len(runs) > 0
}

// same reports whether a dashboard of the server is what it should be: equal but for its
// number and version, which the server gives it.
func same(have, want map[string]any) bool {
	strip := func(model map[string]any) map[string]any {
		text, err := json.Marshal(model)
		if err != nil {
			return nil
		}
		var c map[string]any
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		if d.Decode(&c) != nil {
			return nil
		}
		delete(c, "id")
		delete(c, "version")
		return c
	}
	return reflect.DeepEqual(strip(have), strip(want))
}

// dataSourceOptions returns the jsonData of the data source. timeInterval is how often
// csiglab serve asks labs. It is a whole number of seconds, as Grafana adds it to steps and
// Prometheus does not read 1.25s.
func dataSourceOptions(token bool) map[string]any {
	o := map[string]any{"httpMethod": "POST", "timeInterval": "1s", "prometheusType": "Prometheus", "manageAlerts": false}
	if token {
		o["httpHeaderName1"] = "Authorization"
	}
	return o
}

// planDataSource compares the data source with what it should be, and returns what makes it
// so.
func (p *push) planDataSource() (do func() error, err error) {
	want := &gapi.DataSource{
		UID: dataSourceUID, Name: dataSourceName, Type: "prometheus", Access: "proxy", URL: p.config.DataSource.URL,
		JSONData: dataSourceOptions(p.config.DataSource.Token != ""), SecureJSONData: map[string]any{},
	}
	if token := p.config.DataSource.Token; token != "" {
		want.SecureJSONData["httpHeaderValue1"] = "Bearer " + token
	}
	have, err := p.DataSourceByUID(dataSourceUID)
	if absent(err) {
		return func() error {
			if _, err := p.NewDataSource(want); err != nil {
				return err
			}
			p.changed("data source", want.Name, created, nil)
			return nil
		}, nil
	}
	if err != nil {
		return nil, err
	}
	equal := have.Type == want.Type && have.URL == want.URL && have.Access == want.Access && reflect.DeepEqual(have.JSONData, want.JSONData)
	switch {
	case have.Type != want.Type:
		return nil, fmt.Errorf("there is one with the UID %s that is of type %s and not csiglab's", dataSourceUID, have.Type)
	case equal && (p.config.DataSource.Token == "" || have.ReadOnly):
		return func() error { p.changed("data source", have.Name, unchanged, nil); return nil }, nil
	case have.ReadOnly:
		return nil, fmt.Errorf("the one with the UID %s comes from a file of the server, which alone can change it", dataSourceUID)
	}
	want.ID, want.Name, want.IsDefault, want.Version = have.ID, have.Name, have.IsDefault, have.Version
	return func() error {
		if err := p.UpdateDataSourceByUID(want); err != nil {
			return err
		}
		did := updated
		if equal {
			did = unchanged
		}
		p.changed("data source", want.Name, did, nil)
		return nil
	}, nil
}
