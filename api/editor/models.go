package editor

import (
	"context"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
)

// modelRoutes serve the requests of an editor that opens. They need no credential; an account's own models need its
// credential.
func (s *Surface) modelRoutes() []edge.Route {
	return edge.Cloud(
		edge.Route{Method: http.MethodGet, Path: "/models", Access: edge.Public, Handle: s.getModelFolders},
		edge.Route{Method: http.MethodGet, Path: "/models/:folder", Access: edge.Public, Handle: s.getModels},
		edge.Route{Method: http.MethodGet, Path: "/experiment/models", Access: edge.Public, Handle: edge.Of(s.models, s.getExperimentFolders)},
		edge.Route{
			Method: http.MethodGet, Path: "/experiment/models/:folder", Access: edge.Public, Handle: edge.Of(s.folder, s.getExperimentModels),
		},
		edge.Route{Method: http.MethodGet, Path: "/experiment/models/preview/:folder/:index/:name", Access: edge.Public, Handle: noPreview},
		edge.Route{Method: http.MethodGet, Path: "/embeddings", Access: edge.Public, Handle: edge.Of(s.models, s.getEmbeddings)},
		edge.Route{Method: http.MethodGet, Path: "/users", Access: edge.Public, Handle: always(userConfig{Storage: "server", Migrated: true})},
		edge.Route{Method: http.MethodGet, Path: "/i18n", Access: edge.Public, Handle: always(struct{}{})},
		// no class replaces another one
		edge.Route{Method: http.MethodGet, Path: "/node_replacements", Access: edge.Public, Handle: always(struct{}{})},
		edge.Route{Method: http.MethodGet, Path: "/internal/files/:folder", Handle: s.getFolderFiles},
		edge.Route{Method: http.MethodGet, Path: "/internal/folder_paths", Handle: edge.Of(s.models, s.getFolderPaths)},
		edge.Route{Method: http.MethodGet, Path: "/extensions", Access: edge.Public, Handle: s.getExtensions},
		edge.Route{Method: http.MethodGet, Path: "/workflow_templates", Access: edge.Public, Handle: always(struct{}{})},
		edge.Route{Method: http.MethodGet, Path: "/global_subgraphs", Access: edge.Public, Handle: always(struct{}{})},
		edge.Route{Method: http.MethodGet, Path: "/global_subgraphs/:id", Access: edge.Public, Handle: noSubgraph},
	)
}

// userConfig is the answer that makes an editor store its settings in this service and not in the browser. Its only
// user is the owner of the credential.
type userConfig struct {
	Storage  string `json:"storage"`
	Migrated bool   `json:"migrated"`
}

// always answers with the same body.
func always(body any) func(*gin.Context) error {
	return func(c *gin.Context) error {
		return edge.OK(c, body, nil)
	}
}

func noPreview(*gin.Context) error {
	return fault.New(fault.NotFound, fault.CodeNotFound, "this model has no picture")
}

func noSubgraph(*gin.Context) error {
	return fault.New(fault.NotFound, fault.CodeNotFound, "there is no such subgraph")
}

// modelsPrefix begins the paths of uploaded model files: models/<folder>/<name>.
const modelsPrefix = "models/"

// maxModels bounds the files that are searched for models.
const maxModels = 10_000

// models returns the model files by folder: those of the servers, and the caller's own.
func (s *Surface) models(c *gin.Context) (map[string][]string, error) {
	folders, err := s.ownModels(c)
	if err != nil || s.Servers == nil {
		return folders, err
	}
	remote := s.Servers.Models()
	for _, folder := range remote.Folders {
		own := folders[folder]
		if own == nil {
			own = []string{} // an editor also shows empty folders
		}
		folders[folder] = append(own, remote.Files[folder]...)
	}
	return folders, nil
}

// ownModels returns the caller's model files by folder. It is empty without a valid credential.
func (s *Surface) ownModels(c *gin.Context) (map[string][]string, error) {
	folders := map[string][]string{}
	if s.NodeFiles == nil {
		return folders, nil
	}
	secret, err := s.Edge.RequestSecret(c)
	if err != nil {
		return nil, err
	}
	who, err := s.Edge.Auth.Authenticate(c.Request.Context(), secret)
	if fault.Is(err, fault.Unauthenticated) {
		return folders, nil
	}
	if err != nil {
		return nil, err
	}
	if !who.Allows(account.ScopeRead) {
		return folders, nil
	}
	return folders, s.collectModels(c.Request.Context(), who.Account, folders)
}

func (s *Surface) collectModels(ctx context.Context, owner string, folders map[string][]string) error {
	names, err := s.NodeFiles.ForAccount(owner).List(ctx, node.FolderInput, maxModels)
	for _, name := range names {
		rest, ok := strings.CutPrefix(name, modelsPrefix)
		if folder, file, deep := strings.Cut(rest, "/"); ok && deep {
			folders[folder] = append(folders[folder], file)
		}
	}
	return err
}

// maxFolderFiles bounds the files that are listed of a folder.
const maxFolderFiles = 10_000

// getFolderFiles lists the files directly in a folder: GET /internal/files/{folder}.
func (s *Surface) getFolderFiles(c *gin.Context) error {
	folder := node.Folder(c.Param("folder"))
	if folder != node.FolderInput && folder != node.FolderOutput && folder != node.FolderTemp {
		return httperr.Invalidf("the folder must be input, output or temp")
	}
	found := []string{}
	if s.NodeFiles != nil {
		names, err := s.NodeFiles.ForAccount(edge.Caller(c).Account).List(c.Request.Context(), folder, maxFolderFiles)
		if err != nil {
			return err
		}
		found = slices.DeleteFunc(append(found, names...), func(name string) bool { return strings.Contains(name, "/") })
	}
	return edge.OK(c, found, nil)
}

// getFolderPaths serves the directories of model files by folder: GET /internal/folder_paths.
func (s *Surface) getFolderPaths(c *gin.Context, models map[string][]string) error {
	paths := map[string][]string{}
	for name := range models {
		paths[name] = []string{modelsPrefix + name}
	}
	return edge.OK(c, paths, nil)
}

func foldersOf(models map[string][]string) []string {
	names := []string{}
	for name := range models {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// folder returns the files of the folder that the path names. A folder without files is NotFound.
func (s *Surface) folder(c *gin.Context) ([]string, error) {
	models, err := s.models(c)
	if err != nil {
		return nil, err
	}
	files, there := models[c.Param("folder")]
	if !there {
		return nil, fault.New(fault.NotFound, fault.CodeNotFound, "there is no such folder of models")
	}
	return files, nil
}

// getModelFolders: GET /models.
func (s *Surface) getModelFolders(c *gin.Context) error {
	models, err := s.models(c)
	return edge.OK(c, foldersOf(models), err)
}

// getModels: GET /models/{folder}.
func (s *Surface) getModels(c *gin.Context) error {
	files, err := s.folder(c)
	return edge.OK(c, files, err)
}

type modelFolder struct {
	Name    string   `json:"name"`
	Folders []string `json:"folders"`
}

// getExperimentFolders: GET /experiment/models.
func (s *Surface) getExperimentFolders(c *gin.Context, models map[string][]string) error {
	body := []modelFolder{}
	for _, name := range foldersOf(models) {
		body = append(body, modelFolder{Name: name, Folders: []string{modelsPrefix + name}})
	}
	return edge.OK(c, body, nil)
}

type modelFile struct {
	Name      string `json:"name"`
	PathIndex int    `json:"pathIndex"` // of the folder in modelFolder.Folders
}

// getExperimentModels: GET /experiment/models/{folder}.
func (s *Surface) getExperimentModels(c *gin.Context, files []string) error {
	body := make([]modelFile, len(files))
	for i, name := range files {
		body[i].Name = name
	}
	return edge.OK(c, body, nil)
}

// getEmbeddings lists embeddings by their names without extension: GET /embeddings.
func (s *Surface) getEmbeddings(c *gin.Context, models map[string][]string) error {
	names := []string{}
	for _, file := range models["embeddings"] {
		names = append(names, strings.TrimSuffix(file, path.Ext(file)))
	}
	if s.Servers != nil {
		names = append(names, s.Servers.Models().Embeddings...)
		slices.Sort(names)
		names = slices.Compact(names)
	}
	return edge.OK(c, names, nil)
}
