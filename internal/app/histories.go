package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
)

func (s *shell) historiesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "histories",
		Short: "Export workflow histories, and replay them against this binary",
		Example: `  millrace histories export 79a79cef --dir hist
  millrace histories replay hist`,
	}
	cmd.AddCommand(s.exportCommand(), s.replayCommand())
	return cmd
}

func (s *shell) exportCommand() *cobra.Command {
	dir, name := ".", ""
	cmd := &cobra.Command{
		Use:   "export JOB|WORKFLOW...",
		Short: "Save workflow histories as JSON files",
		Long: `Save the workflow history of each job's first run, or of any workflow by its id, as DIR/ID.json; what
continues it, as with large graphs, as DIR/ID-2.json and so on. Such a file replays with
"millrace histories replay", also on another machine and without a server. The id of a job may be
shortened to its first characters, four at least.`,
		Example: `  millrace histories export 79a79cef --dir hist
  millrace histories export 79a79cef --dir workflows/testdata/histories --name simple`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, ids []string) error {
			if name != "" && len(ids) > 1 {
				return errors.New("--name goes with one job only")
			}
			if name != filepath.Base(name) && name != "" {
				return fmt.Errorf("--name is the name of a file in --dir, not %q", name)
			}
			c, err := s.temporal()
			if err != nil {
				return err
			}
			defer c.Close()
			step := progress(s.err, "export", "histories")
			for i, text := range ids {
				if err := s.export(cmd.Context(), c, text, dir, name); err != nil {
					return err
				}
				if step != nil {
					step(int64(i+1), int64(len(ids)))
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "dir", dir, "directory of the files")
	cmd.Flags().StringVar(&name, "name", name, "name of the file instead of the job's id")
	s.databaseFlags(cmd)
	s.engineFlags(cmd)
	return cmd
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

// workflowOf returns the workflow that a text names: that of the first run of the job whose id begins so, or the one
// whose id it is. The database is asked only where the id of a job is not whole.
func (s *shell) workflowOf(ctx context.Context, text string) (name, workflow string, err error) {
	if id, err := job.ParseID(text); err == nil {
		return text, id.WorkflowID(1), nil
	}
	if _, _, err := idRange("job", text); err != nil || strings.HasPrefix(text, "job-") {
		return strings.ReplaceAll(text, string(filepath.Separator), "_"), text, nil
	}
	pool, err := s.database(ctx)
	if err != nil {
		return "", "", err
	}
	defer pool.Close()
	id, err := findJob(ctx, pool, text)
	return string(id), id.WorkflowID(1), err
}

// export saves the history of the workflow that text names, from its first execution on.
func (s *shell) export(ctx context.Context, c client.Client, text, dir, name string) error {
	file, workflow, err := s.workflowOf(ctx, text)
	if err != nil {
		return err
	}
	if name != "" {
		file = strings.TrimSuffix(name, ".json")
	}
	execution, err := firstExecution(ctx, c, workflow)
	if err != nil {
		return err
	}
	for n := 1; ; n++ {
		events, next, err := downloadHistory(ctx, c, workflow, execution)
		if err != nil {
			return fmt.Errorf("read the history of workflow %s: %w", workflow, err)
		}
		part := file
		if n > 1 {
			part += fmt.Sprintf("-%d", n)
		}
		if err := s.saveHistory(events, filepath.Join(dir, part+".json")); err != nil || next == "" {
			return err
		}
		execution = next
	}
}

// firstExecution returns the execution that the latest one of a workflow continues, through however many.
func firstExecution(ctx context.Context, c client.Client, workflow string) (string, error) {
	it := c.GetWorkflowHistory(ctx, workflow, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	event, err := it.Next()
	var gone *serviceerror.NotFound
	if errors.As(err, &gone) {
		return "", fault.Wrap(err, fault.NotFound, "", "Temporal has no history of %s: it never began, or Temporal's retention has passed", workflow)
	}
	if err != nil {
		return "", fmt.Errorf("read the history of workflow %s: %w", workflow, err)
	}
	return event.GetWorkflowExecutionStartedEventAttributes().GetFirstExecutionRunId(), nil
}

func (s *shell) saveHistory(events *historypb.History, path string) error {
	raw, err := protojson.MarshalOptions{Indent: " "}.Marshal(events)
	if err != nil {
		return fmt.Errorf("encode a history for %s: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path, append(raw, '\n'), 0o644); err != nil {
		return err
	}
	_, err = fmt.Fprintln(s.out, path)
	return err
}

func (s *shell) replayCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "replay FILE|DIR...",
		Short: "Replay exported histories against this binary's workflows",
		Long: `Replay exported histories against the workflow code of this binary and report each
one that takes another course. The exit code is 1 if any does, or cannot be read: run it
before a deployment, on histories of the running one. A history in which nothing was
done yet is said to be empty: it replays under any code.`,
		Example: `  millrace histories replay hist
  millrace histories replay hist --json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			files, err := historyFiles(args)
			if err != nil {
				return err
			}
			return s.replayFiles(files, asJSON)
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
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

// replayedFile is what became of one exported history under this binary.
type replayedFile struct {
	File   string `json:"file"`
	Result string `json:"result"` // replays, diverges, empty, unreadable
	Step   string `json:"step,omitempty"`
	Detail string `json:"detail,omitempty"`
}

func (s *shell) replayFiles(files []string, asJSON bool) error {
	log, err := s.logger()
	if err != nil {
		return err
	}
	all := make([]replayedFile, len(files))
	step := progress(s.err, "replay", "histories")
	for i, file := range files {
		all[i] = replayFile(sdklog.NewStructuredLogger(log), file)
		if step != nil {
			step(int64(i+1), int64(len(files)))
		}
	}
	return s.printReplayedFiles(all, asJSON)
}

func replayFile(log sdklog.Logger, file string) replayedFile {
	out := replayedFile{File: file, Result: "replays"}
	events, err := readHistory(file)
	switch {
	case err != nil:
		out.Result, out.Detail = "unreadable", firstLine(err)
	case !slices.ContainsFunc(events.GetEvents(), taskCompleted):
		out.Result = "empty"
	default:
		if err := replayHistory(log, events); err != nil {
			out.Result, out.Step, out.Detail = "diverges", divergence(err), firstLine(err)
		}
	}
	return out
}

// taskCompleted reports whether an event says that workflow code has run: without one there is nothing to replay.
func taskCompleted(e *historypb.HistoryEvent) bool {
	return e.GetEventType() == enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
}

// maxHistory bounds a file, in bytes: beyond what the engine keeps of one workflow.
const maxHistory = 256 << 20

func readHistory(file string) (*historypb.History, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // read only
	events, err := client.HistoryFromJSON(io.LimitReader(f, maxHistory), client.HistoryJSONOptions{})
	if err != nil || len(events.GetEvents()) == 0 {
		return nil, errors.New("this is no workflow history in JSON")
	}
	return events, nil
}

func (s *shell) printReplayedFiles(all []replayedFile, asJSON bool) error {
	counts := map[string]int{}
	styles := map[string]inspect.Style{"replays": inspect.Good, "diverges": inspect.Bad, "unreadable": inspect.Bad, "empty": inspect.Notice}
	var rows [][]inspect.Cell
	for _, r := range all {
		counts[r.Result]++
		rows = append(rows, []inspect.Cell{{Text: r.Result, Style: styles[r.Result]}, {Text: r.File}, {Text: r.Step}})
		if r.Detail != "" {
			rows = append(rows, []inspect.Cell{{}, {Text: r.Detail}})
		}
	}
	if asJSON {
		if err := s.printJSON(all); err != nil {
			return err
		}
	} else {
		p := s.printer()
		p.Table([]string{"", "FILE", "STEP"}, rows)
		if err := p.Err(); err != nil {
			return err
		}
	}
	switch {
	case counts["diverges"] > 0:
		return fmt.Errorf("%d of %d histories diverge: running jobs would fail under this binary", counts["diverges"], len(all))
	case counts["unreadable"] > 0:
		return fmt.Errorf("%d of %d files cannot be read as histories", counts["unreadable"], len(all))
	case counts["replays"] == 0:
		return errors.New("there is nothing to replay: no step of these workflows was done yet")
	}
	return nil
}
