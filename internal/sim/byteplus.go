package sim

import (
	"fmt"
	"net/http"
	"strings"
)

func arkError(status int, code, message string) reply {
	return fail(status, map[string]any{"error": map[string]any{"code": code, "message": message, "param": "", "type": "BadRequest"}})
}

var arkRefusals = refusals{
	faultPolicy: arkError(http.StatusBadRequest, "InputTextSensitiveContentDetected",
		"The request failed because the input text may contain sensitive information."),
	faultInvalid: arkError(http.StatusBadRequest, "InvalidParameter", "The parameter `content` specified in the request is not valid."),
	faultBusy: arkError(http.StatusTooManyRequests, "ModelAccountRpmRateLimitExceeded",
		"The rate limit of the account acct-simulated1 is exceeded."),
	faultUnpaid: arkError(http.StatusForbidden, "AccountOverdueError", "The account is overdue."),
	faultError:  arkError(http.StatusInternalServerError, "InternalServiceError", "The service encountered an unexpected internal error."),
	faultDown:   arkError(http.StatusServiceUnavailable, "ServerOverloaded", "The service is overloaded."),
}

func (s *Server) byteplusRoutes() {
	s.handle("POST /byteplus/api/v3/images/generations", bearer, arkRefusals.or(arkImage))
	s.handle("POST /byteplus/api/v3/responses", bearer, arkRefusals.or(arkResponse))
	s.handle("POST /byteplus/api/v3/contents/generations/tasks", bearer, arkRefusals.or(arkSubmit))
	s.handle("GET /byteplus/api/v3/contents/generations/tasks/{id}", bearer, refusals{faultDown: arkRefusals[faultDown]}.or(arkTask))
	s.handle("DELETE /byteplus/api/v3/contents/generations/tasks/{id}", bearer, func(e *exchange) reply {
		if !e.cancel() {
			return arkError(http.StatusConflict, "InvalidAction.RunningTaskDeletion", "The task can not be cancelled any more.")
		}
		return ok(map[string]any{})
	})
}

// arkAreas are the pixels of a frame.
var arkAreas = map[string]int{"480p": 864 * 480, "720p": 1280 * 720, "1080p": 1920 * 1088}

func arkResolution(e *exchange) string {
	if asked := e.text("resolution"); arkAreas[asked] > 0 {
		return asked
	}
	if strings.HasPrefix(e.text("model"), "seedance-1-0") {
		return "1080p"
	}
	return "720p"
}

func arkSubmit(e *exchange) reply {
	resolution := arkResolution(e)
	extra := fmt.Sprintf("%s %s %d", e.text("model"), resolution, arkAreas[resolution]*121/1024) // five seconds
	if e.body["return_last_frame"] == true {
		extra += " last"
	}
	t := e.submit(extra)
	e.callback(e.text("callback_url"), t, arkTask, nil)
	return reply{status: http.StatusOK, json: map[string]any{"id": t.id()}, charged: true}
}

func arkTask(e *exchange) reply {
	t, found := e.ticket()
	if !found {
		return arkError(http.StatusNotFound, "ResourceNotFound", "The specified task is not found.")
	}
	var model, resolution, last string
	var tokens int
	_, _ = fmt.Sscan(t.Extra, &model, &resolution, &tokens, &last) // what is not there stays empty
	task := map[string]any{
		"id": t.id(), "model": model, "status": "running", "service_tier": "default", "created_at": t.Ready/1000 - 1,
		"updated_at": e.now.Unix(),
	}
	switch {
	case e.canceled(t):
		task["status"] = "cancelled"
		return ok(task)
	case !t.finished(e.now):
		return ok(task)
	case t.Fault == faultPolicy:
		task["status"], task["error"] = "failed", map[string]any{
			"code":    "OutputVideoSensitiveContentDetected",
			"message": "The output video may contain sensitive information.",
		}
		return ok(task)
	case t.Fault != "":
		task["status"], task["error"] = "failed", map[string]any{"code": "InternalServiceError", "message": "The generation failed."}
		return ok(task)
	}
	content := map[string]any{"video_url": e.file(t.Seed, "mp4")}
	if last != "" {
		content["last_frame_url"] = e.file(t.Seed, "png")
	}
	task["status"], task["content"] = "succeeded", content
	task["usage"] = map[string]any{"completion_tokens": tokens, "total_tokens": tokens}
	task["resolution"], task["ratio"], task["duration"], task["framespersecond"], task["seed"] = resolution, "16:9", 5, 24, 42
	return ok(task)
}

// arkImage answers with one picture, whatever number was requested.
func arkImage(e *exchange) reply {
	return reply{status: http.StatusOK, charged: true, json: map[string]any{
		"model": e.text("model"), "created": e.now.Unix(),
		"data":  []any{map[string]any{"url": e.file(seedOf(e.raw), "png"), "size": "2048x2048"}},
		"usage": map[string]any{"generated_images": 1, "output_tokens": 16384, "total_tokens": 16384},
	}}
}

func arkResponse(e *exchange) reply {
	return reply{status: http.StatusOK, charged: true, json: map[string]any{
		"id": "resp_" + seedOf(e.raw), "object": "response", "created_at": e.now.Unix(), "model": e.text("model"), "status": "completed",
		"output": []any{
			map[string]any{"type": "reasoning", "id": "rs_1", "status": "completed", "summary": []any{}},
			map[string]any{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": []any{
				map[string]any{"type": "output_text", "text": "A simulated answer."},
			}},
		},
		"usage": map[string]any{"input_tokens": 40, "output_tokens": 25, "total_tokens": 65},
	}}
}
