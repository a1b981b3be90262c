// Package nodes holds the command that describes native node classes, and writes their reference pages.
package nodes

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/millrace-dev/millrace/internal/cli/shell"
	"github.com/millrace-dev/millrace/internal/engine/media/ffmpeg"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/standard"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

//go:generate go run ../../../cmd/millrace nodes --markdown ../../../docs

// Command returns the command on node classes.
func Command(s *shell.Shell) *cobra.Command {
	markdown, all := "", false
	cmd := &cobra.Command{
		Use: "nodes [CLASS]", Short: "List the available native node classes, or describe one", Args: cobra.MaximumNArgs(1),
		Long: `List the native node classes of the running service, or describe one. If no service is found (DATABASE_URL,
or a millrace dev on the data directory), the classes are those that this machine can serve: without ffmpeg,
none of sound and video. /api/object_info also lists the classes of ComfyUI servers and partner models.`,
		Example: "  millrace nodes\n  millrace nodes ImageScale",
		RunE: func(cmd *cobra.Command, args []string) error {
			if markdown != "" {
				return writePages(markdown)
			}
			classes, err := standard.Registry(&ffmpeg.Tool{}) // classes of ffmpeg are described even if it is not installed
			if err != nil {
				return err
			}
			absent, err := absentClasses(cmd, s)
			if err != nil {
				return err
			}
			if len(args) == 1 {
				return describe(s.Out, classes, args[0], slices.Contains(absent, args[0]))
			}
			if all {
				absent = nil
			}
			return listNodes(s.Out, classes, absent)
		},
	}
	s.DatabaseFlags(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "include classes that are not available because ffmpeg is missing")
	cmd.Flags().StringVar(&markdown, "markdown", markdown, "write the reference pages (nodes.md, nodes/*.md) into this directory")
	cmd.AddCommand(diff(s))
	return cmd
}

// absentClasses returns the native classes that are not available: in the running service or, if no service is found,
// on this machine.
func absentClasses(cmd *cobra.Command, s *shell.Shell) ([]string, error) {
	rules, ok, err := s.RunningRules(cmd.Context())
	if err != nil {
		_, _ = fmt.Fprintf(s.Err, "The service cannot be reached, so the list is that of this machine: %v\n", err)
	}
	if ok {
		return rules.Absent, nil
	}
	tool, err := ffmpeg.Find(s.Config.FFmpeg)
	if err != nil {
		return nil, fmt.Errorf("MILLRACE_FFMPEG: %w", err)
	}
	return standard.Absent(tool)
}

// notServed is the reason why a native class is not available, and the remedy.
const notServed = "ffmpeg is missing: see MILLRACE_FFMPEG"

func describe(out io.Writer, classes *node.Registry, name string, absent bool) error {
	c, ok := classes.Lookup(name)
	if !ok {
		return fmt.Errorf("native class %q does not exist; `millrace nodes` lists all", name)
	}
	if err := writeNode(out, c); err != nil || !absent {
		return err
	}
	_, err := fmt.Fprintf(out, "\nNot available: %s.\n", notServed)
	return err
}

func listNodes(out io.Writer, classes *node.Registry, absent []string) error {
	w := terminal.NewColumns(out)
	for _, c := range classes.Classes() {
		if !slices.Contains(absent, c.Name) {
			w.Row(c.Name, c.Category, firstSentence(c.Description))
		}
	}
	if err := w.Flush(); err != nil || len(absent) == 0 {
		return err
	}
	_, err := fmt.Fprintf(out, "\n%d more are not available: %s. --all lists them.\n", len(absent), notServed)
	return err
}

func firstSentence(text string) string {
	sentence, _, _ := strings.Cut(text, ". ")
	return strings.TrimSuffix(sentence, ".")
}

// writePages writes a page for each family of classes, and an index page.
func writePages(dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, "nodes"), 0o755); err != nil {
		return err
	}
	var index strings.Builder
	index.WriteString("# Native node classes\n\nGenerated from the definitions by `make generate`; `GET /api/object_info` serves the same.\n" +
		"Classes for sound and video need ffmpeg (`MILLRACE_FFMPEG`). Each class says which program its results are compared with.\n")
	for _, family := range standard.Families(&ffmpeg.Tool{}) { // classes of ffmpeg are described even if it is not installed
		fmt.Fprintf(&index, "\n## [%s](nodes/%s.md)\n\n%d classes.\n\n| Class | Category | Does | Results |\n|---|---|---|---|\n", family.Title,
			family.Name, len(family.Classes))
		var page strings.Builder
		fmt.Fprintf(&page, "# %s\n\nGenerated from the definitions by `make generate`. All families: [nodes.md](../nodes.md).\n", family.Title)
		for _, c := range family.Classes {
			fmt.Fprintf(&index, "| [%s](nodes/%s.md#%s) | %s | %s | %s |\n", c.Name, family.Name, anchor(c.Name), c.Category,
				cell(firstSentence(c.Description)), standard.ReferenceOf(c.Name))
			if err := writeNode(&page, c); err != nil {
				return err
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "nodes", family.Name+".md"), []byte(page.String()), 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "nodes.md"), []byte(index.String()), 0o644)
}

// anchor returns the name of a heading in a link.
func anchor(heading string) string { return strings.ToLower(strings.ReplaceAll(heading, " ", "-")) }

// writeNode describes one class in Markdown.
func writeNode(out io.Writer, c *node.Class) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\n## %s\n\n%s\n\nCategory %s. Results: %s.\n", c.Name, c.Description, c.Category, standard.ReferenceOf(c.Name).Describe())
	if c.OutputNode {
		b.WriteString("\nAn output node: a graph needs at least one.\n")
	}
	if len(c.Inputs) > 0 {
		b.WriteString("\n| Input | Type | Default | Range or choices | |\n|---|---|---|---|---|\n")
	}
	for _, in := range c.Inputs {
		if in.Section == node.Hidden {
			continue
		}
		fmt.Fprintf(&b, "| `%s`%s | %s | %s | %s | %s |\n", in.Name, optional(in), in.Type, shownDefault(in), bounds(in), cell(in.Tooltip))
	}
	var outputs []string
	for _, o := range c.Outputs {
		name := string(o.Type)
		if o.Name != "" && o.Name != name {
			name += " `" + o.Name + "`"
		}
		if o.IsList {
			name += " (list)"
		}
		outputs = append(outputs, name)
	}
	if len(outputs) > 0 {
		fmt.Fprintf(&b, "\nOutputs: %s\n", strings.Join(outputs, ", "))
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func optional(in node.Input) string {
	text := ""
	if in.Section == node.Optional {
		text += " (optional)"
	}
	if in.Lazy {
		text += " (lazy)"
	}
	return text
}

func shownDefault(in node.Input) string {
	switch {
	case in.Default == nil && in.Type == node.Combo && len(in.Options) > 0:
		return in.Options[0]
	case in.Default == nil:
		return ""
	case in.Default == "":
		return `""`
	default:
		return cell(fmt.Sprint(in.Default))
	}
}

func bounds(in node.Input) string {
	switch {
	case in.Folder != "":
		return fmt.Sprintf("a file of folder %s", in.Folder)
	case len(in.Options) > 0:
		return cell(strings.Join(in.Options, ", "))
	case in.Min != nil && in.Max != nil:
		return fmt.Sprintf("%v to %v", in.Min, in.Max)
	default:
		return ""
	}
}

// cell escapes a text for a cell of a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ").Replace(text)
}
