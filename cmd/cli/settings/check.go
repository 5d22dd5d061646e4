package settings

import (
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/csiglab/csiglab/internal/lines"
)

// The checks of values return what is wanted, "" if the text is that.

func path(text string) string {
	if text == "" || strings.ContainsRune(text, 0) {
		return "want the name of a file or a folder"
	}
	return ""
}

func count(text string) string {
	if n, err := strconv.Atoi(text); err != nil || n < 1 {
		return "want a whole number from 1"
	}
	return ""
}

// word accepts a text without blanks.
func word(text string) string {
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return "want a text without blanks"
	}
	return ""
}

func oneOf(words func() []string) func(string) string {
	return func(text string) string {
		if slices.Contains(words(), text) {
			return ""
		}
		return "want " + lines.Alternatives(words())
	}
}

func address(text string) string {
	_, port, err := net.SplitHostPort(text)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return "want an address and a port, such as 127.0.0.1:9090"
	}
	return ""
}

func webAddress(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return "want an address, such as http://localhost:3000"
	case u.User != nil:
		return "want an address without a password; grafana-token-file names a file with a token"
	}
	return ""
}

// Shown returns a value for a message, without the password of an address.
func Shown(text string) string {
	if u, err := url.Parse(text); err == nil && u.User != nil {
		return u.Redacted()
	}
	return text
}

func socket(text string) string {
	if !strings.HasPrefix(text, "unix:///") {
		return "want a socket of this machine, such as unix:///var/run/docker.sock"
	}
	return ""
}
