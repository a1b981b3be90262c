package service

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/millrace-dev/millrace/internal/cli/shell"
	"github.com/millrace-dev/millrace/internal/sim/comfyui"
)

// comfyUISimulator is for tests and demonstrations on machines without a GPU.
func comfyUISimulator(s *shell.Shell) *cobra.Command {
	addr, opts := "127.0.0.1:8188", comfyui.Options{Previews: true}
	cmd := &cobra.Command{
		Use: "comfyui", Short: "Simulate a ComfyUI server", Args: cobra.NoArgs, Hidden: true,
		Long: `Serve a simulator of a ComfyUI server, whose samplers make deterministic noise. Faults are
injected with POST /sim/faults/NAME?times=N and cleared with DELETE /sim/faults; GET /sim/runs
lists the executed nodes.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			machine, err := comfyui.Start(addr, opts)
			if err != nil {
				return err
			}
			defer machine.Close()
			if _, err := fmt.Fprintf(s.Out, "Simulated ComfyUI at %s\n", machine.URL()); err != nil {
				return err
			}
			<-cmd.Context().Done()
			return nil
		},
	}
	cmd.Flags().StringVar(&addr, "addr", addr, "listen address")
	cmd.Flags().StringSliceVar(&opts.Checkpoints, "checkpoint", nil, "name of a checkpoint of the server (repeatable)")
	cmd.Flags().StringSliceVar(&opts.Without, "without", nil, "class that the server does not have (repeatable)")
	cmd.Flags().DurationVar(&opts.Step, "step", 0, "duration of a sampler's step (default 1ms)")
	cmd.Flags().DurationVar(&opts.Load, "load", 0, "duration of loading a checkpoint (default 20ms)")
	cmd.Flags().BoolVar(&opts.NoJobs, "no-jobs", false, "do not serve /api/jobs, like servers before 2026")
	return cmd
}
