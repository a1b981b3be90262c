package config

import (
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/config/amount"
)

// Servers is the configuration of ComfyUI servers.
type Servers struct {
	Fixed   []string      // MILLRACE_COMFYUI, separated by spaces: URL[,label=x]… of servers to register at the start
	Silence time.Duration // MILLRACE_COMFYUI_SILENCE, how long a server may send nothing before it counts as lost
	Web     string        // MILLRACE_COMFYUI_WEB, address of the server whose web files of custom nodes an editor loads; "" = none
	// MILLRACE_COMFYUI_CREDENTIALS, separated by spaces: addresses of the servers that receive credentials of Comfy.org
	ComfyOrg  []string
	MaxOutput int64 // MILLRACE_MAX_OUTPUT, maximum bytes of one output file of a server
}

func defaultServers() Servers { return Servers{Silence: 30 * time.Second, MaxOutput: 4 << 30} }

var serverSettings = []setting{
	{"MILLRACE_COMFYUI", func(c *Config, v string) error {
		c.Servers.Fixed = strings.Fields(v)
		return nil
	}},
	text("MILLRACE_COMFYUI_WEB", func(c *Config) *string { return &c.Servers.Web }),
	{"MILLRACE_COMFYUI_CREDENTIALS", func(c *Config, v string) error {
		c.Servers.ComfyOrg = strings.Fields(v)
		return nil
	}},
	duration("MILLRACE_COMFYUI_SILENCE", func(c *Config) *time.Duration { return &c.Servers.Silence }),
	{"MILLRACE_MAX_OUTPUT", func(c *Config, v string) (err error) {
		c.Servers.MaxOutput, err = amount.ParseBytes(v)
		return err
	}},
}
