package uiworkflow

import (
	"encoding/json"
	"net/url"
	"strings"
)

// Model is a model file that a drawing needs, with the address from which its author got it.
type Model struct {
	Name     string `json:"name"`
	URL      string `json:"url"`
	Hash     string `json:"hash"`
	HashType string `json:"hash_type"`
	Folder   string `json:"directory"`
}

// SHA256 returns the SHA-256 that the file should have, in lower-case hexadecimal digits, or "" if the drawing has none.
func (m Model) SHA256() string {
	if !strings.EqualFold(m.HashType, "SHA256") {
		return ""
	}
	return strings.ToLower(m.Hash)
}

// modelNode is the part of a node that names models.
type modelNode struct {
	Properties struct {
		Models []Model `json:"models"`
	} `json:"properties"`
}

const (
	maxModels   = 1000 // of a drawing
	maxModelURL = 2000 // bytes
)

// Models returns the model files that the nodes of a drawing name in their property models with an address of the web. A drawing that
// cannot be read names none.
func Models(drawing json.RawMessage) (all []Model) {
	var w struct {
		Nodes       []modelNode `json:"nodes"`
		Definitions struct {
			Subgraphs []struct {
				Nodes []modelNode `json:"nodes"`
			} `json:"subgraphs"`
		} `json:"definitions"`
	}
	if json.Unmarshal(drawing, &w) != nil {
		return nil
	}
	nodes := w.Nodes
	for _, s := range w.Definitions.Subgraphs {
		nodes = append(nodes, s.Nodes...)
	}
	for _, n := range nodes {
		for _, m := range n.Properties.Models {
			u, err := url.Parse(m.URL)
			if err == nil && m.Name != "" && u.Host != "" && u.User == nil && (u.Scheme == "https" || u.Scheme == "http") &&
				len(m.URL) <= maxModelURL && len(all) < maxModels {
				all = append(all, m)
			}
		}
	}
	return all
}

// ModelsOf is Models for the drawing that the extra_data of a submission contains for the metadata of saved files.
func ModelsOf(extraData map[string]json.RawMessage) []Model {
	var info struct {
		Workflow json.RawMessage `json:"workflow"`
	}
	if json.Unmarshal(extraData["extra_pnginfo"], &info) != nil {
		return nil
	}
	return Models(info.Workflow)
}
