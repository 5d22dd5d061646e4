package command

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/internal/spelling"
)

// Choice checks a flag with a fixed set of values.
func Choice(flag, value string, known ...string) error {
	for _, k := range known {
		if value == k {
			return nil
		}
	}
	return Usage("--%s %q: want one of %s%s", flag, value, strings.Join(known, ", "), DidYouMean(value, known))
}

// AtMostOne requires one argument or none.
func AtMostOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return Usage("want %s, got %d: %q; see %s --help", what, len(args), args, cmd.CommandPath())
		}
		return nil
	}
}

// One requires exactly one argument.
func One(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return Usage("want %s, got %d: %q; see %s --help", what, len(args), args, cmd.CommandPath())
		}
		return nil
	}
}

// CompleteFlag proposes words as the values of a flag, and files.
func CompleteFlag(cmd *cobra.Command, flag string, words []string) {
	complete := cobra.FixedCompletions(words, cobra.ShellCompDirectiveDefault)
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic("csiglab: " + err.Error()) // there is no such flag, or it has a completion
	}
}

// DidYouMean returns a hint at the known word that is nearest to a text, "" if none is near.
func DidYouMean(text string, known []string) string {
	return spelling.Hint(spelling.Nearest(text, known))
}
