package app

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/millrace-dev/millrace/internal/media/ffmpeg"
	"github.com/millrace-dev/millrace/internal/node"
	"github.com/millrace-dev/millrace/internal/node/standard"
)

//go:generate sh -c "go run ../../cmd/millrace nodes --markdown > ../../docs/nodes.md.new && mv ../../docs/nodes.md.new ../../docs/nodes.md || { rm -f ../../docs/nodes.md.new; exit 1; }"

func (s *shell) nodesCommand() *cobra.Command {
	markdown := false
	cmd := &cobra.Command{
		Use: "nodes [CLASS]", Short: "List the native node classes, or describe one", Args: cobra.MaximumNArgs(1),
		Example: "  millrace nodes\n  millrace nodes ImageScale",
		RunE: func(_ *cobra.Command, args []string) error {
			classes, err := standard.Registry(&ffmpeg.Tool{}) // described also where it is not installed
			if err != nil {
				return err
			}
			if markdown {
				return writeNodes(s.out, classes)
			}
			if len(args) == 1 {
				c, ok := classes.Lookup(args[0])
				if !ok {
					return fmt.Errorf("there is no native class %q; `millrace nodes` lists all", args[0])
				}
				return writeNode(s.out, c)
			}
			return listNodes(s.out, classes)
		},
	}
	cmd.Flags().BoolVar(&markdown, "markdown", markdown, "write the reference page (docs/nodes.md)")
	return cmd
}

func listNodes(out io.Writer, classes *node.Registry) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, c := range classes.Classes() {
		fmt.Fprintf(w, "%s\t%s\t%s\n", c.Name, c.Category, firstSentence(c.Description)) //nolint:errcheck // flushed below
	}
	return w.Flush()
}

func firstSentence(text string) string {
	sentence, _, _ := strings.Cut(text, ". ")
	return strings.TrimSuffix(sentence, ".")
}

// writeNodes writes the reference page of all classes by category.
func writeNodes(out io.Writer, classes *node.Registry) error {
	var b strings.Builder
	b.WriteString("# Native node classes\n\nGenerated from the definitions by `make generate`; `GET /api/object_info` serves the same.\n")
	var order []string
	byCategory := map[string][]*node.Class{}
	for _, c := range classes.Classes() {
		if byCategory[c.Category] == nil {
			order = append(order, c.Category)
		}
		byCategory[c.Category] = append(byCategory[c.Category], c)
	}
	fmt.Fprintf(&b, "\n%d classes. Those under audio and image/video are there where ffmpeg is (`MILLRACE_FFMPEG`).\n", len(classes.Classes()))
	for _, category := range order {
		fmt.Fprintf(&b, "\n## %s\n", category)
		for _, c := range byCategory[category] {
			if err := writeNode(&b, c); err != nil {
				return err
			}
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// writeNode describes one class in Markdown.
func writeNode(out io.Writer, c *node.Class) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\n### %s\n\n%s\n", c.Name, c.Description)
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

// cell keeps a text within its cell of a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ").Replace(text)
}
