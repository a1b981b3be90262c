-- Labels of ComfyUI servers that jobs of an account may ask for: null = every label, empty = none.
alter table accounts add column server_labels text[];
