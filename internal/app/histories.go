package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	sdkworker "go.temporal.io/sdk/worker"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/job"
	"github.com/millrace-dev/millrace/worker"
)

func (s *shell) historiesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "histories",
		Short: "Export workflow histories, and replay them against this binary",
	}
	cmd.AddCommand(s.exportCommand(), s.replayCommand())
	return cmd
}

func (s *shell) exportCommand() *cobra.Command {
	dir, name := ".", ""
	cmd := &cobra.Command{
		Use:   "export JOB|WORKFLOW...",
		Short: "Save workflow histories as JSON files",
		Long: `Save the workflow history of each job's first run, or of any workflow by its id, as
DIR/ID.json. Such a file replays with "millrace histories replay", also on another
machine and without a server.`,
		Example: "  millrace histories export 79a79cef-619c-4beb-a25a-481e71169521 --dir workflows/testdata/histories --name simple",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, ids []string) error {
			if name != "" && len(ids) > 1 {
				return errors.New("--name goes with one job only")
			}
			c, err := s.temporal()
			if err != nil {
				return err
			}
			defer c.Close()
			for _, text := range ids {
				path, err := export(cmd.Context(), c, text, dir, name)
				if err != nil {
					return err
				}
				fmt.Fprintln(s.out, path) //nolint:errcheck // progress only
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "dir", dir, "directory of the files")
	cmd.Flags().StringVar(&name, "name", name, "name of the file instead of the job's id")
	s.temporalFlags(cmd)
	return cmd
}

// temporalFlags are those of commands that need the engine alone.
func (s *shell) temporalFlags(cmd *cobra.Command) {
	s.engineFlags(cmd)
	cmd.Flags().StringVar(&s.cfg.DataDir, "data", s.cfg.DataDir, "data directory of a running millrace dev (MILLRACE_DATA)")
}

// engineFlags say where the engine is.
func (s *shell) engineFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.cfg.TemporalAddress, "temporal-address", s.cfg.TemporalAddress, "Temporal frontend, HOST:PORT (TEMPORAL_ADDRESS)")
	cmd.Flags().StringVar(&s.cfg.TemporalNamespace, "temporal-namespace", s.cfg.TemporalNamespace, "Temporal namespace (TEMPORAL_NAMESPACE)")
}

func (s *shell) temporal() (client.Client, error) {
	if err := s.findServers(); err != nil {
		return nil, err
	}
	if s.cfg.TemporalAddress == "" {
		return nil, fmt.Errorf("no Temporal: set TEMPORAL_ADDRESS, or start `millrace dev` with its data in %s (--data)", s.cfg.DataDir)
	}
	c, err := client.Dial(client.Options{HostPort: s.cfg.TemporalAddress, Namespace: s.cfg.TemporalNamespace})
	if err != nil {
		return nil, fmt.Errorf("no Temporal at %s: %w", s.cfg.TemporalAddress, err)
	}
	return c, nil
}

// export saves the history of a job's first run, or of the workflow of that id.
func export(ctx context.Context, c client.Client, id, dir, name string) (string, error) {
	workflow := id
	if parsed, err := job.ParseID(id); err == nil {
		workflow = parsed.WorkflowID(1)
	}
	var history historypb.History
	it := c.GetWorkflowHistory(ctx, workflow, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for it.HasNext() {
		event, err := it.Next()
		if err != nil {
			return "", fault.Wrap(err, fault.NotFound, "", "Temporal has no history of %s", id)
		}
		history.Events = append(history.Events, event)
	}
	raw, err := protojson.MarshalOptions{Indent: " "}.Marshal(&history)
	if err != nil {
		return "", fmt.Errorf("encode the history of %s: %w", id, err)
	}
	if name == "" {
		name = id
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(dir, strings.TrimSuffix(name, ".json")+".json")
	return path, os.WriteFile(path, append(raw, '\n'), 0o644)
}

func (s *shell) replayCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "replay FILE|DIR...",
		Short: "Replay exported histories against this binary's workflows",
		Long: `Replay exported histories against the workflow code of this binary and report each
one that takes another course. The exit code is 1 if any does: run it before a
deployment, on histories of the running one.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			files, err := historyFiles(args)
			if err != nil {
				return err
			}
			return replayAll(s, files)
		},
	}
}

func historyFiles(args []string) ([]string, error) {
	var files []string
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			files = append(files, arg)
			continue
		}
		found, err := filepath.Glob(filepath.Join(arg, "*.json"))
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		return nil, errors.New("there are no histories (*.json) there")
	}
	return files, nil
}

func replayAll(s *shell, files []string) error {
	log, err := s.logger()
	if err != nil {
		return err
	}
	diverged := 0
	for _, file := range files {
		replayer := sdkworker.NewWorkflowReplayer()
		worker.RegisterWorkflows(replayer)
		worker.RegisterAssetWorkflows(replayer)
		worker.RegisterModelWorkflows(replayer)
		if err := replayer.ReplayWorkflowHistoryFromJSONFile(sdklog.NewStructuredLogger(log), file); err != nil {
			diverged++
			fmt.Fprintf(s.out, "diverges  %s\n          %v\n", file, err) //nolint:errcheck // the exit code tells, too
			continue
		}
		fmt.Fprintf(s.out, "replays   %s\n", file) //nolint:errcheck // as above
	}
	if diverged > 0 {
		return fmt.Errorf("%d of %d histories diverge: running jobs would fail under this binary", diverged, len(files))
	}
	return nil
}
