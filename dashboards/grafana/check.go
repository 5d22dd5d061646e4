package grafana

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// oldest is the oldest version of Grafana that a push accepts. It saves dashboards by the
// UID of their folder and data sources by theirs.
const oldest = 10

// parseURL reads the address of a server.
func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		return nil, fmt.Errorf("%w: %q is not an address such as http://localhost:3000", ErrConfig, text)
	case u.User != nil:
		return nil, fmt.Errorf("%w: the address has a user name; csiglab needs the token of a service account", ErrConfig)
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("%w: the address %q has more than a path", ErrConfig, text)
	}
	return u, nil
}

// checkToken refuses what no token is, before it gets into a header.
func checkToken(token string) error {
	if token == "" {
		return fmt.Errorf("%w: the token is empty", ErrConfig)
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > unicode.MaxASCII || r == 0x7f }) {
		return fmt.Errorf("%w: the token has a character that no token of Grafana has", ErrConfig)
	}
	return nil
}

// check finds out whether the server can be pushed to, before anything is changed: that it
// is there and new enough, that it knows the token, and that the token may do all of it.
func (c *client) check() error {
	health, err := c.Health()
	var syntax *json.SyntaxError
	switch {
	case absent(err):
		return fmt.Errorf("%w: it has no /api/health", ErrNoGrafana)
	case errors.As(err, &syntax): // of a page in HTML
		return fmt.Errorf("%w: /api/health is not JSON", ErrNoGrafana)
	case err != nil:
		return err
	case health.Database == "":
		return fmt.Errorf("%w: /api/health says nothing of a database", ErrNoGrafana)
	}
	if err := checkVersion(health.Version); err != nil {
		return err
	}
	may := map[string][]string{}
	if err := c.get("/api/access-control/user/permissions", &may); err != nil {
		if absent(err) {
			return fmt.Errorf("%w: it has no access control", ErrOld)
		}
		return err
	}
	if health.Version == "" { // Grafana tells it only to those who have signed in
		var settings struct{ BuildInfo struct{ Version string } }
		if err := c.get("/api/frontend/settings", &settings); err != nil {
			return err
		}
		if err := checkVersion(settings.BuildInfo.Version); err != nil {
			return err
		}
	}
	actions := []string{"folders:read", "folders:create", "dashboards:read", "dashboards:create", "dashboards:write", "datasources:read", "datasources:create", "datasources:write"}
	if missing := slices.DeleteFunc(actions, func(a string) bool { _, ok := may[a]; return ok }); len(missing) > 0 {
		return fmt.Errorf("%w: it lacks %s; a service account with the role Admin has them", ErrPermission, strings.Join(missing, ", "))
	}
	return nil
}

// checkVersion refuses old servers. A server may keep its version to itself.
func checkVersion(version string) error {
	if version == "" {
		return nil
	}
	major, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(major)
	switch {
	case err != nil:
		return fmt.Errorf("%w: its version is %q", ErrNoGrafana, version)
	case n < oldest:
		return fmt.Errorf("%w: Grafana %s; csiglab's dashboards need %d.0 or newer", ErrOld, version, oldest)
	}
	return nil
}
