package service

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace-dev/millrace/internal/app"
	"github.com/millrace-dev/millrace/internal/cli/shell"
	"github.com/millrace-dev/millrace/internal/sim"
)

// Simulator returns the command that simulates providers.
func Simulator(s *shell.Shell) *cobra.Command {
	addr, delay := "127.0.0.1:8190", 300*time.Millisecond
	cmd := &cobra.Command{
		Use: "sim", Short: "Simulate the partner providers, in their wire formats", Args: cobra.NoArgs,
		Long: `Serve a simulator of the partner providers of the model catalog. It needs no key, costs
nothing and answers in the providers' own formats. A word in the caller's text selects a
fault: [sim:policy], [sim:invalid], [sim:error], [sim:busy], [sim:drop], [sim:broken], [sim:hang],
[sim:delay=2s] and more (docs/recipes/model.md). GET /charges returns the simulated charges.`,
		Example: `  millrace sim
  MILLRACE_SIMULATOR=http://127.0.0.1:8190 millrace serve
  BFL_API_KEY=any MILLRACE_PROVIDER_URLS=bfl=http://127.0.0.1:8190/bfl millrace dev`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := s.Logger()
			if err != nil {
				return err
			}
			listener, err := app.Listen(addr)
			if err != nil {
				return err
			}
			base := "http://" + listener.Addr().String()
			if _, err := fmt.Fprintf(s.Out, "Provider simulator at %s (%s)\n", base, strings.Join(sim.Providers(), ", ")); err != nil {
				return errors.Join(err, listener.Close())
			}
			return sim.Serve(cmd.Context(), listener, sim.Options{Delay: delay, Log: log})
		},
	}
	cmd.Flags().StringVar(&addr, "addr", addr, "listen address")
	cmd.Flags().DurationVar(&delay, "delay", delay, "duration of a generation, unless its request asks for another")
	cmd.AddCommand(comfyUISimulator(s))
	return cmd
}
