-- View assets_v1 stood for processes of the releases that read it. assets_v2 has taken its place.
drop table assets_v1, assets_v1_tags;
delete from checkpoints where name = 'assets_v1';
delete from halted_streams where projection = 'assets_v1';
