package telemetry

import (
	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/nodes/capture"
	"github.com/spf13/cobra"
)

func dissectorCommand(a *command.App) *cobra.Command {
	return &cobra.Command{
		Use:   "dissector",
		Short: "Print a Wireshark dissector for CSIG tags, the transport and the trailer of real frames",
		Long: "Print a Wireshark dissector, in Lua, for CSIG tags of both formats and dialects, the transport\n" +
			"of csiglab and the trailer of real frames.\n\n" +
			"Filters: csig.t csig.s csig.lm csig.d csig.r, csiglab.type csiglab.flow csiglab.psn and more.\n" +
			"Preferences: csig.dialect, csig.tpid_compact, csig.tpid_wide, csig.quantisers.",
		Example: "  csiglab dissector > csig.lua\n" +
			"  tshark -X lua_script:csig.lua -o csig.dialect:uec-0.50 -r run/baseline-1.pcapng -Y 'csig.t == 2'",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return a.Print(capture.Dissector)
		},
	}
}
