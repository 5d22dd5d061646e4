package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/conformance"
	"github.com/csiglab/csiglab/conformance/live"
	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/nodes/netio"
	"github.com/csiglab/csiglab/units"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// switchFlags are the flags of csiglab conformance switch.
type switchFlags struct {
	outputs
	ports, macs []string
	rate, setup string
	tolerance   float64
	printSetup  bool
}

func switchCommand(a *command.App) *cobra.Command {
	var f switchFlags
	cmd := &cobra.Command{
		Use:   "switch --ports IF,IF,IF (--rate RATE | --setup FILE)",
		Short: "Test a real switch over interfaces of this machine",
		Long: "Test a real switch over interfaces of this machine, one at each of its ports. The switch gets frames whose\n" +
			"result does not depend on load; then its signals are read while the ports send. Rules that cannot be seen so\n" +
			"are skipped, with the reason. It takes root or CAP_NET_RAW.\n\n" +
			"The switch must be set up as --print-setup shows, or as a file says that has been made from it. It forwards by\n" +
			"MAC addresses: 02:00:00:00:00:00 leads to the first port, 02:00:00:01:00:00 to the second one, and so on.\n\n" +
			"Exit codes: 0 all rules held, 1 a rule failed, 3 the switch did not forward, or an interface failed.",
		Example: "  csiglab conformance switch --ports eth1,eth2,eth3 --rate 1Gbps --print-setup > setup.json\n" +
			"  csiglab conformance switch --ports eth1,eth2,eth3 --setup setup.json --junit junit.xml --page conformance.html",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return testSwitch(cmd.Context(), a, &f) },
	}
	cmd.Flags().StringSliceVar(&f.ports, "ports", nil, "the `INTERFACES` at the switch's ports, in their order: three or more")
	cmd.Flags().StringVar(&f.rate, "rate", "", "the `RATE` of each port, such as 1Gbps; this machine must be able to send it")
	cmd.Flags().StringVar(&f.setup, "setup", "", "how the switch is set up, as JSON in `FILE`; it has the rates")
	cmd.Flags().StringSliceVar(&f.macs, "macs", nil, "`ADDRESSES` that lead to each port, in their order (default: those of the setup's hosts)")
	cmd.Flags().Float64Var(&f.tolerance, "tolerance", 0.15, "how far available bandwidth may be off, as a `SHARE` of the rate; the range of the quantiser comes on top")
	cmd.Flags().BoolVar(&f.printSetup, "print-setup", false, "print the setup as JSON instead, and test nothing")
	f.outputs.flags(cmd)
	return cmd
}

func testSwitch(ctx context.Context, a *command.App, f *switchFlags) error {
	c := live.Config{Ports: f.ports, Tolerance: f.tolerance}
	var err error
	if c.Setup, err = f.read(); err != nil {
		return err
	}
	if err := live.Check(c.Setup); err != nil {
		if f.setup == "" {
			return command.Usage("--ports: %w", err)
		}
		return command.Usage("--setup %s: %w", f.setup, err)
	}
	if f.printSetup {
		data, err := json.MarshalIndent(c.Setup, "", "  ")
		if err != nil {
			return err
		}
		return a.Print(string(data) + "\n")
	}
	switch {
	case len(f.ports) != len(c.Setup.Ports):
		return command.Usage("--ports names %d interfaces, and the setup has %d ports", len(f.ports), len(c.Setup.Ports))
	case !(f.tolerance >= 0 && f.tolerance < 0.5):
		return command.Usage("--tolerance %v: from 0 to below 0.5", f.tolerance)
	case f.macs != nil && len(f.macs) != len(f.ports):
		return command.Usage("--macs names %d addresses for %d ports", len(f.macs), len(f.ports))
	}
	if c.Addresses, err = f.addresses(c.Setup); err != nil {
		return err
	}
	var indices []int
	for i, name := range f.ports {
		nic, err := net.InterfaceByName(name)
		if err != nil {
			return command.Usage("--ports: this machine has no interface %s", name)
		}
		if nic.Flags&net.FlagUp == 0 {
			return command.Usage("--ports: %s is down: ip link set %s up", name, name)
		}
		for k := range i {
			if indices[k] == nic.Index {
				return command.Usage("--ports names %s twice", name)
			}
		}
		indices = append(indices, nic.Index)
	}
	report, err := overInterfaces(ctx, c, indices)
	switch {
	case ctx.Err() != nil:
		return command.Infrastructure(errors.New("interrupted"))
	case errors.Is(err, os.ErrPermission):
		return command.Infrastructure(fmt.Errorf("%w: it takes root or CAP_NET_RAW", err))
	case err != nil:
		return command.Infrastructure(err)
	}
	return publish(ctx, a, report, &f.outputs)
}

// read returns the setup of the flags.
func (f *switchFlags) read() (*conformance.Setup, error) {
	switch {
	case len(f.ports) == 0:
		return nil, command.Usage("--ports is missing: name the interfaces at the switch's ports")
	case (f.rate == "") == (f.setup == ""):
		return nil, command.Usage("give either --rate or --setup, which has the rates")
	case f.rate != "":
		rate, err := units.ParseRate(f.rate)
		if err != nil {
			return nil, command.Usage("--rate: %w", err)
		}
		if rate < units.Mbps {
			return nil, command.Usage("--rate %v: 1Mbps or more", rate)
		}
		return live.Default(len(f.ports), int64(rate)), nil
	}
	data, err := os.ReadFile(f.setup)
	if err != nil {
		return nil, command.Usage("--setup %s: %w", f.setup, cause.Of(err))
	}
	var d conformance.Setup
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&d); err != nil {
		return nil, command.Usage("--setup %s: %w", f.setup, err)
	}
	return &d, nil
}

// addresses returns those that lead to the ports.
func (f *switchFlags) addresses(d *conformance.Setup) (list []net.HardwareAddr, err error) {
	if f.macs == nil {
		if list, err = live.Addresses(d); err != nil {
			return nil, command.Usage("--setup %s: %w", f.setup, err)
		}
		return list, nil
	}
	for _, text := range f.macs {
		mac, err := net.ParseMAC(text)
		if err != nil || len(mac) != 6 || mac[0]&1 != 0 {
			return nil, command.Usage("--macs: %q is no MAC address of one station", text)
		}
		list = append(list, mac)
	}
	return list, nil
}

// longestFrame is that of any frame of a test, with tags.
const longestFrame = 2048

// overInterfaces tests over interfaces, which take frames of all addresses meanwhile.
func overInterfaces(ctx context.Context, c live.Config, indices []int) (*conformance.Report, error) {
	conn, err := netio.OpenPacket(indices, longestFrame)
	if err != nil {
		return nil, err
	}
	defer conn.Close() //nolint:errcheck // all frames have been read
	member, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(member) //nolint:errcheck // its end is the end of promiscuous mode
	for i, index := range indices {
		err := unix.SetsockoptPacketMreq(member, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, &unix.PacketMreq{Ifindex: int32(index), Type: unix.PACKET_MR_PROMISC})
		if err != nil {
			return nil, fmt.Errorf("promiscuous mode of %s: %w", c.Ports[i], err)
		}
	}
	c.Conn = conn
	return live.Run(ctx, c)
}
