// Package histories holds the commands that export workflow histories and replay them from files.
package histories

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/millrace-dev/millrace/internal/cli/shell"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate/histories"
	"github.com/millrace-dev/millrace/internal/operate/jobs"
	"github.com/millrace-dev/millrace/internal/operate/records"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

// Command returns the commands on workflow histories.
func Command(s *shell.Shell) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "histories",
		Short: "Export workflow histories, and replay them against this binary",
		Example: `  millrace histories export 79a79cef --dir hist
  millrace histories replay hist`,
	}
	cmd.AddCommand(exportCommand(s), replayCommand(s), stuckCommand(s))
	return cmd
}

func exportCommand(s *shell.Shell) *cobra.Command {
	dir, name := ".", ""
	cmd := &cobra.Command{
		Use:   "export JOB|WORKFLOW...",
		Short: "Save workflow histories as JSON files",
		Long: `Save the workflow history of each job's first run, or of any workflow by its id, as DIR/ID.json.
Executions that continue it, as with large graphs, become DIR/ID-2.json and so on. Such a file can be
replayed with "millrace histories replay", also on another machine and without a server. The id of a job may
be shortened to its first characters, at least four, and may be the public id that a client chose.`,
		Example: `  millrace histories export 79a79cef --dir hist
  millrace histories export 79a79cef --dir workflows/testdata/histories --name simple`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, ids []string) error {
			if name != "" && len(ids) > 1 {
				return errors.New("--name can be used with one job only")
			}
			if name != filepath.Base(name) && name != "" {
				return fmt.Errorf("--name takes the name of a file in --dir, not %q", name)
			}
			c, err := s.Temporal()
			if err != nil {
				return err
			}
			defer c.Close()
			step := s.Session().Step("export", "histories")
			for i, text := range ids {
				if err := export(cmd.Context(), s, c, text, dir, name); err != nil {
					return err
				}
				step(int64(i+1), int64(len(ids)))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "dir", dir, "directory of the files")
	cmd.Flags().StringVar(&name, "name", name, "name of the file; default: the job's id")
	s.DatabaseFlags(cmd)
	s.TemporalFlags(cmd)
	return cmd
}

// workflowOf returns the workflow that a text names: the workflow of the first run of the job whose id or public id
// begins with the text, or else the workflow with that id.
func workflowOf(ctx context.Context, s *shell.Shell, text string) (name, workflow string, err error) {
	if id, err := job.ParseID(text); err == nil {
		id, err = jobOf(ctx, s, id)
		return text, id.WorkflowID(1), err
	}
	if _, _, err := records.IDRange("job", text); err != nil || strings.HasPrefix(text, "job-") {
		return strings.ReplaceAll(text, string(filepath.Separator), "_"), text, nil
	}
	pool, err := s.Database(ctx)
	if err != nil {
		return "", "", err
	}
	defer pool.Close()
	id, err := jobs.FindJob(ctx, pool, text)
	return string(id), id.WorkflowID(1), err
}

// jobOf returns the job with a complete id, which may be a public id that a client chose. If no database has the job,
// the id counts as the job's own, so that a history in Temporal can always be exported.
func jobOf(ctx context.Context, s *shell.Shell, id job.ID) (job.ID, error) {
	pool, err := s.Database(ctx)
	if err != nil {
		return id, nil // exporting a history needs no database
	}
	defer pool.Close()
	found, err := jobs.FindJob(ctx, pool, string(id))
	if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Unavailable) {
		return id, nil
	}
	return found, err
}

// export saves the history of the workflow that text names, beginning with its first execution.
func export(ctx context.Context, s *shell.Shell, c client.Client, text, dir, name string) error {
	file, workflow, err := workflowOf(ctx, s, text)
	if err != nil {
		return err
	}
	if name != "" {
		file = strings.TrimSuffix(name, ".json")
	}
	execution, err := histories.FirstExecution(ctx, c, workflow)
	if err != nil {
		return err
	}
	part, n := file, 1
	for events, err := range histories.Chain(ctx, c, workflow, execution) {
		if err == nil {
			err = saveHistory(s, events, filepath.Join(dir, part+".json"))
		}
		if err != nil {
			return err
		}
		n++
		part = fmt.Sprintf("%s-%d", file, n)
	}
	return nil
}

func saveHistory(s *shell.Shell, events *historypb.History, path string) error {
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
	_, err = fmt.Fprintln(s.Out, path)
	return err
}

func replayCommand(s *shell.Shell) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "replay FILE|DIR...",
		Short: "Replay exported histories against this binary's workflows",
		Long: `Replay exported histories against the workflow code of this binary and report each history that
diverges. The exit code is 1 if a history diverges or cannot be read: run the command before a
deployment, on histories of the running version. A history without a completed step is reported
as empty, because it replays under any code.`,
		Example: `  millrace histories replay hist
  millrace histories replay hist --json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			files, err := histories.Files(args)
			if err != nil {
				return err
			}
			return replayFiles(s, files, asJSON)
		},
	}
	shell.JSONFlag(cmd, &asJSON)
	return cmd
}

func replayFiles(s *shell.Shell, files []string, asJSON bool) error {
	with, err := s.Replayer()
	if err != nil {
		return err
	}
	all := make([]histories.Replayed, len(files))
	step := s.Session().Step("replay", "histories")
	for i, file := range files {
		all[i] = histories.ReplayFile(with, file)
		step(int64(i+1), int64(len(files)))
	}
	if err := s.Print(asJSON, all, func(p *terminal.Printer) { histories.Show(p, "FILE", all) }); err != nil {
		return err
	}
	return histories.Problem(all, "files cannot be read as histories", "these workflows have not completed any step")
}
