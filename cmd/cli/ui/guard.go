package ui

import (
	"bytes"
	"errors"
	"html"
	"net"
	"net/http"
	"slices"
	"strings"
)

// headers are of all answers, beside the policy. Nothing of a page may be seen by another site, framed,
// referred to or kept.
var headers = map[string]string{
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
	"Referrer-Policy":              "no-referrer",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Cross-Origin-Embedder-Policy": "require-corp",
	"Cache-Control":                "no-store",
}

const policyHeader = "Content-Security-Policy"

// guard refuses requests that no page of this server and no user at an address line makes.
func guard(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(policyHeader, ownPolicy())
		for name, value := range headers {
			w.Header().Set(name, value)
		}
		switch {
		case !local(r.Host): // a name of another site that leads to this machine (DNS rebinding)
			refuse(w, http.StatusForbidden, "This server answers to localhost, 127.0.0.1 and [::1] only.", "")
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			refuse(w, http.StatusMethodNotAllowed, "This server answers to GET and HEAD only.", "")
		case r.ContentLength != 0: // its body need not come
			w.Header().Set("Connection", "close")
			refuse(w, http.StatusBadRequest, "This server takes requests without a body only.", "")
		case !slices.Contains([]string{"", "none", "same-origin"}, r.Header.Get("Sec-Fetch-Site")):
			refuse(w, http.StatusForbidden, "This server answers to its own pages only.", "Write its address into the browser's address line.")
		default:
			h.ServeHTTP(w, r)
		}
	})
}

// local reports whether the Host of a request names this machine.
func local(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	return slices.Contains([]string{"localhost", "127.0.0.1", "::1", "[::1]"}, strings.ToLower(name))
}

// Bounds and marks of the policy of a page.
const (
	policyWithin = 4 << 10 // bytes from the page's beginning
	policyBegins = `<meta http-equiv="Content-Security-Policy" content="`
	policyLeast  = "default-src 'none';"
)

// policyOf returns the content policy that a page has itself, with what only a header can say.
func policyOf(page []byte) (string, error) {
	_, rest, ok := bytes.Cut(page[:min(len(page), policyWithin)], []byte(policyBegins))
	text, _, ends := bytes.Cut(rest, []byte(`"`))
	policy := html.UnescapeString(string(text))
	if !ok || !ends || !strings.HasPrefix(policy, policyLeast) || strings.ContainsFunc(policy, func(c rune) bool { return c < ' ' || c > '~' }) {
		return "", errors.New("the page has no content policy")
	}
	return policy + "; frame-ancestors 'none'", nil
}
